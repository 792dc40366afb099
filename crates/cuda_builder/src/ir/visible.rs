//! Functions and statics that stay in the PTX even if no kernel uses them.

use super::module::Module;
use crate::error::CudaBuilderError;

/// The section that `#[externally_visible]` writes.
const MARK: &str = "cuda_std.externally_visible";

/// The names of the marked definitions.
pub(crate) fn names<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    let globals = module
        .globals()
        .filter(|global| global.section() == Some(MARK));
    let functions = (module.functions()).filter(|function| function.head.section() == Some(MARK));
    globals
        .map(|global| global.name())
        .chain(functions.map(|function| function.name()))
}

/// Removes the sections: PTX has none.
pub(crate) fn unmark(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for global in module.globals_mut() {
        if global.section() == Some(MARK) {
            let without = (global.text()).replacen(&format!(", section \"{MARK}\""), "", 1);
            global.replace(&without)?;
        }
    }
    for function in module.functions_mut() {
        if function.head.section() == Some(MARK) {
            function.head.remove_section()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{names, unmark};
    use crate::ir::module::Module;
    use crate::ir::testing::rewritten;

    #[test]
    fn marked_functions_and_statics_are_named_and_lose_the_mark() {
        let ir = "@COUNT = global i32 0, section \"cuda_std.externally_visible\", align 4\n@other = global i32 0, align 4\n\
                  define i32 @help(i32 %0) unnamed_addr #0 section \"cuda_std.externally_visible\" !dbg !5 {\n  ret i32 0\n}\n";
        let module = Module::parse(ir).unwrap();
        assert_eq!(names(&module).collect::<Vec<_>>(), ["COUNT", "help"]);
        assert_eq!(
            rewritten(ir, unmark),
            "@COUNT = global i32 0, align 4\n@other = global i32 0, align 4\n\
             define i32 @help(i32 %0) unnamed_addr #0 !dbg !5 {\n  ret i32 0\n}\n"
        );
    }
}
