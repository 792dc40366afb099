//! Both halves of a 64-bit value by one move.
//!
//! Shuffles move words of 32 bits, so that a 64-bit value is taken apart before each. LLVM prints
//!
//! ```text
//! cvt.u32.u64 %r5, %rd1;                              mov.b64 {%r5, %r6}, %rd1;
//! { .reg .b32 tmp; mov.b64 {tmp, %r6}, %rd1; }
//! ```
//!
//! What puts the halves together again stays: of `mov.b64 %rd5, {%r7, %r8}` ptxas makes copies in
//! some places.

use crate::lines::{Edits, edit};

/// The same PTX with such moves.
pub(crate) fn take(ptx: &str) -> String {
    edit(ptx, moves)
}

/// A low half and, as the next instruction, the high half.
fn moves(code: &[(usize, &str)]) -> Edits {
    let mut edits = Edits::new();
    for [(low_at, low), (high_at, high)] in code.array_windows() {
        if let Some((low, whole)) = low_half(low)
            && let Some((high, of)) = high_half(high)
            && of == whole
        {
            let moved = format!("\tmov.b64 \t{{{low}, {high}}}, {whole};");
            edits.insert(*low_at, Some(moved));
            edits.insert(*high_at, None);
        }
    }
    edits
}

/// `%r5` and `%rd1` of the low half.
fn low_half(line: &str) -> Option<(&str, &str)> {
    let operands = line.strip_prefix("\tcvt.u32.u64 \t")?;
    operands.strip_suffix(';')?.split_once(", ")
}

/// `%r6` and `%rd1` of the high half.
fn high_half(line: &str) -> Option<(&str, &str)> {
    let operands = line.strip_prefix("\t{ .reg .b32 tmp; mov.b64 {tmp, ")?;
    operands.strip_suffix("; }")?.split_once("}, ")
}

#[cfg(test)]
mod tests {
    use super::take;

    const APART: &str = "\tcvt.u32.u64 \t%r5, %rd1;\n\t.loc\t1 2 3 // a.rs:2:3\n\t{ .reg .b32 tmp; mov.b64 {tmp, %r6}, %rd1; }\n";

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let function = |body: &str| format!(".visible .entry k()\n{{\n{body}\tret;\n}}\n");
        assert_eq!(take(&function(body)), function(expected));
    }

    #[test]
    fn both_halves_are_taken_at_once() {
        let moved = "\tmov.b64 \t{%r5, %r6}, %rd1;\n\t.loc\t1 2 3 // a.rs:2:3\n";
        check(&format!("{APART}{APART}"), &format!("{moved}{moved}"));
    }

    #[test]
    fn other_halves_stay() {
        for (from, to) in [
            // Of another value, and signed.
            ("%r6}, %rd1", "%r6}, %rd9"),
            ("cvt.u32", "cvt.s32"),
            // Not one after the other.
            ("\t.loc", "$L__BB0_2:\n\t.loc"),
            ("\t.loc", "\tmov.b64 \t%rd1, %rd7;\n\t.loc"),
            // The low half alone, and with more than a move.
            ("{tmp, %r6}", "{%r6, tmp}"),
            ("%rd1; }", "%rd1; add.s32 %r6, %r6, 1; }"),
        ] {
            let other = APART.replacen(from, to, 1);
            check(&other, &other);
        }
    }
}
