//! Works around sign extensions that LLVM 22 miscompiles.
//!
//! The pass `slsr`, which `llc` runs for this target and which cannot be disabled, treats `sext(x +
//! 1)` as `sext(x) + 1` if both index one pointer, even where the addition wraps. For `i1`, where
//! `!x` is `x + 1`, it wraps every other time. The standard library's merge of sorted runs steps
//! two pointers this way, so every sort of more than 20 elements was wrong.

use super::module::{Instruction, Module, Opcode, typed};
use crate::error::CudaBuilderError;

/// Hides the extended value from that pass, at no cost in instructions.
pub(crate) fn guard(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut count = 0;
    for function in module.functions_mut() {
        function.expand(|instruction| {
            let (ty, operand) = typed(instruction.operands());
            // Vectors (`<4 x i1>`) are never used as addresses.
            if instruction.opcode() != Opcode::SExt || ty.starts_with('<') {
                return Ok(None);
            }
            let hidden = format!("%sext.operand.{count}");
            count += 1;
            let mut extension = instruction.clone();
            extension.set_operands(&instruction.operands().replacen(
                &format!("{ty} {operand}"),
                &format!("{ty} {hidden}"),
                1,
            ))?;
            Ok(Some(vec![
                Instruction::new(&format!("{hidden} = freeze {ty} {operand}"))?,
                extension,
            ]))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::guard;
    use crate::ir::testing::check_body;

    #[test]
    fn what_is_extended_is_hidden() {
        let body = "  %7 = sext i1 %.not to i64, !dbg !5\n  %8 = zext i1 %7 to i64\n  %v = sext <2 x i1> %9 to <2 x i64>\n";
        check_body(
            guard,
            body,
            &body.replace(
                "  %7 = sext i1 %.not",
                "  %sext.operand.0 = freeze i1 %.not\n  %7 = sext i1 %sext.operand.0",
            ),
        );
    }
}
