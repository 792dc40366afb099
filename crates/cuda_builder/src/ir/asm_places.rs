//! Removes `!srcloc`, the source positions of inline assembly.
//!
//! rustc counts these positions through all files of a compilation: one more line in a file changes
//! those in others, and LLVM would compile every kernel with assembly again. Nothing reads them on
//! the way to PTX; `!dbg` has the line.

use super::module::Module;
use crate::error::CudaBuilderError;

const PLACE: &str = ", !srcloc !";

pub(crate) fn remove(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for instruction in module.instructions_mut() {
        let Some((before, after)) = instruction.metadata().split_once(PLACE) else {
            continue;
        };
        let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let (result, operation) = (instruction.result_text(), instruction.operation());
        let text = format!("{result}{operation}{before}{after}");
        instruction.replace(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_and_all_else_stays() {
        let text = "define void @k() {\n  call void asm \"x, !srcloc !1\", \"\"() #1, !dbg !2, !srcloc !31 ; asm\n  \
                    %1 = call i32 asm \"y\", \"=r\"(), !srcloc !4, !range !5\n  %2 = add i32 %1, 1, !dbg !2\n  ret void\n}\n";
        let mut module = Module::parse(text).unwrap();
        remove(&mut module).unwrap();
        let expected = text
            .replace(", !srcloc !31", "")
            .replace(", !srcloc !4", "");
        assert_eq!(module.to_string(), expected);
    }
}
