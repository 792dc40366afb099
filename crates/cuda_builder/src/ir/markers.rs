//! Markers for values that a library knows to be uniform; only the uniformity check reads them.

use super::module::{Callee, Instruction, Module, unexpected, value};
use crate::error::CudaBuilderError;

/// The functions of `cuda_std::uniform`: they return their operand.
pub(crate) const OF_BLOCK: &str = "__cuda_std_block_uniform";
pub(crate) const OF_WARP: &str = "__cuda_std_warp_uniform";

/// Replaces each marker by its operand.
pub(crate) fn remove(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        function.expand(operand)?;
    }
    Ok(())
}

/// The operand that replaces a marker.
fn operand<'a>(mark: &Instruction<'a>) -> Result<Option<Vec<Instruction<'a>>>, CudaBuilderError> {
    let Some(call) = mark.call()? else {
        return Ok(None);
    };
    if !matches!(call.callee, Callee::Direct(OF_BLOCK | OF_WARP)) {
        return Ok(None);
    }
    let mut arguments = call.arguments();
    let operand = match (arguments.next(), arguments.next()) {
        (Some(argument), None) if argument.starts_with("i32 ") => value(argument),
        _ => return Err(unexpected("a mark with other operands", mark.text())),
    };
    let result = mark.result_text();
    if result.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let position = mark.position_text();
    let copy = format!("{result}bitcast i32 {operand} to i32{position}");
    Ok(Some(vec![Instruction::new(&copy)?]))
}

#[cfg(test)]
mod tests {
    use super::remove;
    use crate::ir::module::Module;
    use crate::ir::testing::{check_body, function};

    #[test]
    fn marks_become_their_operands() {
        check_body(
            remove,
            "  %a = call noundef i32 @__cuda_std_block_uniform(i32 noundef %b) #1, !dbg !7\n  call void @f()\n",
            "  %a = bitcast i32 %b to i32, !dbg !7\n  call void @f()\n",
        );
        check_body(remove, "  call i32 @__cuda_std_warp_uniform(i32 7)\n", "");
    }

    #[test]
    fn a_mark_of_another_type_is_an_error() {
        let ir = function("  %a = call i64 @__cuda_std_warp_uniform(i64 %b)\n");
        let error = remove(&mut Module::parse(&ir).unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("__cuda_std_warp_uniform(i64 %b)"),
            "{error}"
        );
    }
}
