//! Flush-to-zero arithmetic: denormal `f32` inputs and results become zero (nvcc's `-ftz=true`).

use super::module::Module;
use crate::error::CudaBuilderError;

const ATTRIBUTE: &str = "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"";

/// Sets the attribute that LLVM's NVPTX backend reads on every function.
pub(crate) fn mark(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        function.head.add_attribute(ATTRIBUTE)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ATTRIBUTE, mark};
    use crate::ir::testing::rewritten;

    #[test]
    fn every_function_is_asked() {
        let ir = "define void @f() unnamed_addr #0 {\n  ret void\n}\ndefine void @g() {\n  ret void\n}\n";
        let expected = ir
            .replace(" #0", &format!(" {ATTRIBUTE} #0"))
            .replace("@g()", &format!("@g() {ATTRIBUTE}"));
        assert_eq!(rewritten(ir, mark), expected);
    }
}
