//! Halves of 64-bit values by one instruction.
//!
//! Shuffles move words of 32 bits, so that a 64-bit value is taken apart before each and put
//! together after it. LLVM prints six instructions for what `mov.b64` does in two:
//!
//! ```text
//! cvt.u32.u64 %r5, %rd1;                              mov.b64 {%r5, %r6}, %rd1;
//! { .reg .b32 tmp; mov.b64 {tmp, %r6}, %rd1; }
//! cvt.u64.u32 %rd2, %r8;                              mov.b64 %rd5, {%r7, %r8};
//! shl.b64 %rd3, %rd2, 32;
//! cvt.u64.u32 %rd4, %r7;
//! or.b64 %rd5, %rd3, %rd4;
//! ```

use std::collections::HashMap;

use crate::registers::{Edits, Registers, edited, functions, is_code, registers, target};

/// The same PTX with such moves.
pub(crate) fn join(ptx: &str) -> String {
    functions(ptx, write)
}

fn write(function: &[&str], text: &mut String) {
    let mut edits = Edits::new();
    apart(function, &mut edits);
    together(function, &mut edits);
    edited(function, &edits, text);
}

/// A low half and, as the next instruction, the high half.
fn apart(function: &[&str], edits: &mut Edits) {
    let mut before: Option<(usize, [&str; 2])> = None;
    for (at, line) in function
        .iter()
        .enumerate()
        .filter(|(_, line)| is_code(line))
    {
        if let Some((low_at, [low, whole])) = before
            && let Some([high, of]) = high_half(line)
            && of == whole
        {
            let moved = format!("\tmov.b64 \t{{{low}, {high}}}, {whole};");
            edits.insert(low_at, Some(moved));
            edits.insert(at, None);
        }
        before = operands(line, "cvt.u32.u64").map(|operands| (at, operands));
    }
}

/// `%r6` and `%rd1` of the high half.
fn high_half(line: &str) -> Option<[&str; 2]> {
    let rest = line
        .trim_start()
        .strip_prefix("{ .reg .b32 tmp; mov.b64 {tmp, ")?;
    rest.strip_suffix("; }")?
        .split_once("}, ")
        .map(|(high, whole)| [high, whole])
}

/// A value of which both halves are made for it alone, in the block where it is.
fn together(function: &[&str], edits: &mut Edits) {
    let is_high = |line: &str| {
        let shift: Option<[_; 3]> = operands(line, "shl.b64");
        shift.is_some_and(|[.., by]| by == "32")
    };
    if !function.iter().any(|line| is_high(line)) {
        return;
    }
    let registers = Registers::of(function);
    // Made once, and read once.
    let mut made: HashMap<&str, usize> = HashMap::new();
    for (at, line) in function.iter().enumerate() {
        if let Some([register, _]) = operands(line, "cvt.u64.u32") {
            made.insert(register, at);
        } else if let Some([register, ..]) = operands::<3>(line, "shl.b64") {
            made.insert(register, at);
        }
    }
    made.retain(|register, _| registers.mentions(register) == 2);
    let word = |register: &str, at: usize| {
        let made_at = *made.get(register)?;
        let [_, word] = operands(function[made_at], "cvt.u64.u32")?;
        let lines = function.get(made_at + 1..at)?;
        stays(word, lines).then_some((made_at, word))
    };
    let shifted = |register: &str, at: usize| {
        let made_at = *made.get(register)?;
        let [_, high, by] = operands(function[made_at], "shl.b64")?;
        let (high_at, high) = word(high, made_at)?;
        let lines = function.get(made_at..at)?;
        (by == "32" && stays(high, lines)).then_some(([made_at, high_at], high))
    };
    for (at, line) in function.iter().enumerate() {
        let Some([whole, one, other]) = operands(line, "or.b64") else {
            continue;
        };
        for [low, high] in [[one, other], [other, one]] {
            if let Some((low_at, low)) = word(low, at)
                && let Some((high_at, high)) = shifted(high, at)
            {
                let moved = format!("\tmov.b64 \t{whole}, {{{low}, {high}}};");
                edits.insert(at, Some(moved));
                edits.extend([low_at, high_at[0], high_at[1]].map(|at| (at, None)));
            }
        }
    }
}

/// Whether these lines are of one block, and none of them writes the register.
fn stays(register: &str, lines: &[&str]) -> bool {
    (lines.iter()).all(|line| {
        !line.starts_with('$') && registers(target(line)).all(|written| written != register)
    })
}

/// The operands of an instruction that has a line of its own.
fn operands<'t, const N: usize>(line: &'t str, operation: &str) -> Option<[&'t str; N]> {
    let rest = line.strip_prefix('\t')?.strip_prefix(operation)?;
    let list = rest.strip_prefix([' ', '\t'])?.trim_start();
    let list: Vec<_> = list.strip_suffix(';')?.split(", ").collect();
    list.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::join;

    const APART: &str = "\tcvt.u32.u64 \t%r5, %rd1;\n\t.loc\t1 2 3 // a.rs:2:3\n\t{ .reg .b32 tmp; mov.b64 {tmp, %r6}, %rd1; }\n";
    const TOGETHER: &str = "\tcvt.u64.u32 \t%rd2, %r8;\n\tshl.b64 \t%rd3, %rd2, 32;\n\tcvt.u64.u32 \t%rd4, %r7;\n\tor.b64 \t%rd5, %rd3, %rd4;\n";

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let function = |body: &str| format!(".visible .entry k()\n{{\n{body}\tret;\n}}\n");
        assert_eq!(join(&function(body)), function(expected));
    }

    #[test]
    fn a_value_goes_through_a_shuffle_by_two_moves() {
        let apart = "\tmov.b64 \t{%r5, %r6}, %rd1;\n\t.loc\t1 2 3 // a.rs:2:3\n";
        let together = "\tmov.b64 \t%rd5, {%r7, %r8};\n";
        check(&format!("{APART}{TOGETHER}"), &format!("{apart}{together}"));
        check(&TOGETHER.replace("%rd3, %rd4", "%rd4, %rd3"), together);
        // The words may be older, and lines that write others may be between.
        let lines: Vec<_> = TOGETHER.split_inclusive('\n').collect();
        let between = "\tadd.s64 \t%rd9, %rd5, 1;\n\t@%p1 bra \t$L__BB0_2;\n";
        check(
            &format!("{}{}{}{between}{}", lines[2], lines[0], lines[1], lines[3]),
            &format!("{between}{together}"),
        );
    }

    #[test]
    fn other_values_stay() {
        let same = |body: String| check(&body, &body);
        // Another value's high half, one without its low half, and one in another block.
        same(APART.replace("%r6}, %rd1", "%r6}, %rd9"));
        same(APART.replace("cvt.u32", "cvt.s32"));
        same(APART.replace("\t.loc\t1 2 3 // a.rs:2:3\n", "$L__BB0_2:\n"));
        same(APART.replace("\t.loc\t1 2 3 // a.rs:2:3\n", "\tmov.b64 \t%rd1, %rd7;\n"));
        // Another shift, other widenings, and parts that somebody else reads or writes.
        for (from, to) in [
            (", 32;", ", 31;"),
            ("cvt.u64.u32 \t%rd2", "cvt.s64.s32 \t%rd2"),
            ("cvt.u64.u32 \t%rd4", "cvt.s64.s32 \t%rd4"),
            ("or.b64", "xor.b64"),
            ("\tor", "\tmov.b64 \t%rd3, %rd9;\n\tor"),
            ("\tor", "\tadd.s64 \t%rd9, %rd4, 1;\n\tor"),
            ("\tor", "\tadd.s64 \t%rd9, %rd2, 1;\n\tor"),
            ("\tor", "\tadd.s64 \t%rd9, %rd3, 1;\n\tor"),
            // A word with another value by then.
            ("\tor", "\tmov.b32 \t%r7, %r1;\n\tor"),
            ("\tor", "\tld.shared.v2.b32 \t{%r1, %r8}, [%rd9];\n\tor"),
            ("\tor", "\t@%p1 mov.b32 \t%r8, %r1;\n\tor"),
            ("\tshl", "\tmov.b32 \t%r8, %r1;\n\tshl"),
            ("\tor", "$L__BB0_2:\n\tor"),
            ("\tshl", "$L__BB0_2:\n\tshl"),
        ] {
            same(TOGETHER.replacen(from, to, 1));
        }
        // Beside one that is found.
        let other = |text: &str| text.replace("%rd", "%rd1").replace(", 32;", ", 31;");
        check(
            &format!("{}{TOGETHER}", other(TOGETHER)),
            &format!("{}\tmov.b64 \t%rd5, {{%r7, %r8}};\n", other(TOGETHER)),
        );
        // Registers of another function.
        let lines: Vec<_> = TOGETHER.split_inclusive('\n').collect();
        let text = format!(
            "{{\n{}{}{}}}\n{{\n{}}}\n",
            lines[0], lines[1], lines[2], lines[3]
        );
        assert_eq!(join(&text), text);
    }
}
