//! Labels: LLVM's debug-information labels go, and blocks' labels get short names.
//!
//! Nothing branches to the former. `ptxas` generates different code around them: 52 of 110 kernels
//! differed, one by 11 registers. Without them a line table changes no instruction.

use std::collections::HashSet;

/// The same PTX without the debug-information labels that no other line names.
pub(crate) fn drop_unused(ptx: &str) -> String {
    let named: HashSet<&str> = (ptx.lines())
        .filter(|line| label(line).is_none())
        .flat_map(names)
        .collect();
    let mut kept = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        if label(line).is_none_or(|label| named.contains(label)) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The same PTX with blocks' labels named `$L1`, `$L2`, …: LLVM puts the function's number before
/// that, though a label means nothing outside its function.
pub(crate) fn with_short_names(ptx: &str) -> String {
    const LONG: &str = "$L__BB";
    let mut parts = ptx.split(LONG);
    let mut text = String::with_capacity(ptx.len());
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let number = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match number.strip_prefix('_') {
            Some(number) => {
                text.push_str("$L");
                text.push_str(number);
            }
            None => {
                text.push_str(LONG);
                text.push_str(part);
            }
        }
    }
    text
}

/// The name of a debug-information label on a line of its own.
fn label(line: &str) -> Option<&str> {
    let name = line.trim().strip_suffix(':')?;
    is_of_debug_information(name).then_some(name)
}

fn is_of_debug_information(name: &str) -> bool {
    let kinds = ["$L__tmp", "$L__func_begin", "$L__func_end"];
    let number = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// The names of such labels mentioned in a line.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c)))
        .filter(|word| is_of_debug_information(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_labels_are_short() {
        let ptx = |label: &str, other: &str| {
            format!(
                "{label}_2: // Header=BB15_1\n\t@%p1 bra\t{label}_2;\n\
                 $L_brx_0:\n\t.branchtargets\t{label}_2, {label}_30;\n{other}x:\n"
            )
        };
        let short = with_short_names(&ptx("$L__BB15", "$L__BB15"));
        assert_eq!(
            short,
            ptx("$L", "$L__BB15")
                .replace("$L_2", "$L2")
                .replace("$L_3", "$L3")
        );
    }

    #[test]
    fn labels_that_nothing_names_go_and_all_others_stay() {
        let ptx = "{\n$L__func_begin0:\n\t.loc 1 3 5\n$L__tmp0:\n\tadd.s32 %r1, %r2, %r3;\n$L__BB0_2:\n$L__tmp1:\n$L__tmpx:\n\tbra $L__BB0_2;\n$L__func_end0:\n}\n\
                   .section .debug_info {\n.b64 $L__tmp1-$L__func_begin0\n}\n";
        assert_eq!(
            drop_unused(ptx),
            "{\n$L__func_begin0:\n\t.loc 1 3 5\n\tadd.s32 %r1, %r2, %r3;\n$L__BB0_2:\n$L__tmp1:\n$L__tmpx:\n\tbra $L__BB0_2;\n}\n\
             .section .debug_info {\n.b64 $L__tmp1-$L__func_begin0\n}\n"
        );
    }
}
