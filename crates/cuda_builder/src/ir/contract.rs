//! Allows `a * b + c` to be contracted to one `fma`.
//!
//! The flag is set on each operation of the crate instead of globally, because libdevice computes
//! with pairs of floats and relies on its own roundings. With llc's global switch, `powf` was off
//! by 8 ulp instead of 4.

use super::module::{Module, Opcode, has};
use crate::error::CudaBuilderError;

/// Marks every float multiplication, addition and subtraction.
pub(crate) fn mark(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for instruction in module.instructions_mut() {
        let is_operation = matches!(
            instruction.opcode(),
            Opcode::FMul | Opcode::FAdd | Opcode::FSub
        );
        let operands = instruction.operands();
        if is_operation && !has(operands, "contract") && !has(operands, "fast") {
            let marked = format!(" contract{operands}");
            instruction.set_operands(&marked)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::mark;
    use crate::ir::testing::check_body;

    #[test]
    fn operations_are_marked_once_and_other_lines_stay() {
        check_body(
            mark,
            "  %1 = fmul float %a, %b, !dbg !2\n  %2 = fsub nnan <2 x double> %c, %d\n",
            "  %1 = fmul contract float %a, %b, !dbg !2\n  %2 = fsub contract nnan <2 x double> %c, %d\n",
        );
        let body = "  %1 = fadd contract float %a, %b\n  %2 = fmul fast float %a, %b\n  %3 = fdiv float %a, %b\n  %4 = add i32 %a, %b\n";
        check_body(mark, body, body);
    }
}
