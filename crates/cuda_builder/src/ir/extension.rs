//! Sign extensions that LLVM 22 miscompiles.
//!
//! Its pass `slsr`, which `llc` runs for this target and cannot be told not to, takes `sext(x + 1)` for `sext(x) + 1` when both
//! index one pointer, also where the addition wraps. For `i1`, where `!x` is `x + 1`, that is every other time: the standard library's
//! merge of sorted runs steps two pointers so, and every sort of more than 20 elements came out wrong.

/// Hides from that pass what is extended. It costs no instruction.
pub(crate) fn guard(ir: &str) -> String {
    let mut guarded = String::with_capacity(ir.len() + 4096);
    let mut count = 0;
    for line in ir.lines() {
        match extension(line) {
            Some((head, operand, tail)) => {
                let (ty, _) = operand.split_once(' ').unwrap_or((operand, ""));
                guarded.push_str(&format!("  %sext.operand.{count} = freeze {operand}\n"));
                guarded.push_str(&format!("{head}{ty} %sext.operand.{count}{tail}"));
                count += 1;
            }
            None => guarded.push_str(line),
        }
        guarded.push('\n');
    }
    guarded
}

/// The parts of `  %2 = sext |i1 %1| to i64`.
fn extension(line: &str) -> Option<(&str, &str, &str)> {
    const WORD: &str = " = sext ";
    if !line.starts_with("  %") {
        return None;
    }
    let operand = line.find(WORD)? + WORD.len();
    let end = operand + line[operand..].find(" to i")?;
    // Vectors are `<4 x i1>`: no address is made of them.
    line[operand..]
        .starts_with('i')
        .then(|| (&line[..operand], &line[operand..end], &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::guard;

    #[test]
    fn what_is_extended_is_hidden() {
        let ir = "  %7 = sext i1 %.not to i64, !dbg !5\n  %8 = zext i1 %7 to i64\n  %v = sext <2 x i1> %9 to <2 x i64>\n";
        assert_eq!(
            guard(ir),
            ir.replace(
                "  %7 = sext i1 %.not",
                "  %sext.operand.0 = freeze i1 %.not\n  %7 = sext i1 %sext.operand.0"
            )
        );
    }
}
