//! Compiles formatting code for size instead of speed.
//!
//! LLVM's inliner assumes that calls are very expensive on a GPU. In `core::fmt` inlining only adds
//! code: three times as much PTX for a kernel that prints, and the driver compiles everything that
//! could be formatted once per kernel.

use super::module::Module;
use super::names::{demangle, home};
use crate::error::CudaBuilderError;

/// The modules `fmt` and `flt2dec`, `core::panicking`, the panic handler, and `cuda_std`'s panic
/// functions.
const FORMATTING: [&str; 6] = [
    "fmt",
    "flt2dec",
    "panicking",
    "rust_begin_unwind",
    "cuda_std_panic",
    "cuda_std_panic_text",
];

/// Sets `optsize` on every function that formats or panics.
pub(crate) fn shrink(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        if formats(function.name()) {
            function.head.add_attribute("minsize")?;
        }
    }
    Ok(())
}

/// Whether a path in the name is in one of these modules.
fn formats(name: &str) -> bool {
    [demangle(name), home(name)].iter().any(|path| {
        path.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|word| FORMATTING.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::ir::testing::rewritten;

    #[test]
    fn only_what_formats_is_asked_to_be_small() {
        let function = |name: &str| {
            format!("define void @{name}(ptr %0) unnamed_addr #3 !dbg !7 {{\n  ret void\n}}\n")
        };
        for (name, is_small) in [
            ("_RNvXs_NtNtCs0_4core3fmt3nummNtB6_7Display3fmt", true),
            ("_RNvMNtNtCs0_4core3fmt3numm4_fmt", true),
            ("_RNvNtCs0_4core9panicking5panic", true),
            ("_RNvCs0_7___rustc17rust_begin_unwind", true),
            ("cuda_std_panic_text", true),
            ("kernel3f", false),
            // `kernels::fmt_everything`
            ("_RNvCs0_7kernels14fmt_everything", false),
            ("_RNvCs0_7kernels13fmt_a_matrix_", false),
        ] {
            let ir = function(name);
            let expected = if is_small {
                ir.replace("#3", "minsize #3")
            } else {
                ir.clone()
            };
            assert_eq!(rewritten(&ir, shrink), expected);
        }
    }
}
