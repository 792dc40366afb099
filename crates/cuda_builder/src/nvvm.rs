//! Refuses constructs that only OptiX or rust-cuda's compiler backend (on libNVVM) understands.

use std::path::{Path, PathBuf};

use crate::error::CudaBuilderError;
use crate::ir::calls::kernels_of;
use crate::ir::module::{Callee, Function, Module};
use crate::rust_code::{attributes, code};

/// The names of extern statics marked as OptiX's launch parameters by an attribute of that backend.
///
/// The compiler accepts these attributes as names (see `compile`), so that a crate may have them
/// where they are never used.
///
/// # Errors
/// Where such an attribute would have had an effect that is not supported.
pub(crate) fn launch_parameters(
    files: impl Iterator<Item = PathBuf>,
) -> Result<Vec<String>, CudaBuilderError> {
    let mut names = Vec::new();
    // Files from `include_str!` may mention these attributes; only Rust can use them.
    let rust = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    for file in files.filter(rust) {
        // cargo has just read it; if it is gone, nothing was compiled from it.
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        names.extend(in_source(&file, &text)?);
    }
    Ok(names)
}

fn in_source(file: &Path, text: &str) -> Result<Vec<String>, CudaBuilderError> {
    let mut names = Vec::new();
    let code = code(text);
    let attributes: Vec<_> = attributes(&code, "#[").collect();
    for (at, attribute) in code.match_indices("nvvm_internal::") {
        if !attributes.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let item = item_of(&code[at..]);
        let declared = item
            .split_once("static ")
            .filter(|(_, declaration)| !declaration.contains('='))
            .and_then(|(_, declaration)| declaration.trim_start_matches("mut ").split(':').next());
        match declared {
            Some(name) => names.push(name.trim().to_owned()),
            None => {
                let name = item[attribute.len()..]
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next();
                return Err(CudaBuilderError::BackendAttribute {
                    path: file.to_owned(),
                    line: text[..at].matches('\n').count() + 1,
                    attribute: format!("{attribute}{}", name.unwrap_or_default()),
                });
            }
        }
    }
    Ok(names)
}

/// The text up to the semicolon that ends the item, not one inside `[T; N]`.
fn item_of(text: &str) -> &str {
    // The attribute's brackets were opened before this text, and close first.
    let (mut depth, mut outside) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => {
                depth -= 1;
                outside = outside.min(depth);
            }
            b';' if depth == outside => return &text[..at],
            _ => {}
        }
    }
    text
}

/// Fails if the optimised module still needs something that only OptiX or that backend provides.
pub(crate) fn check(
    module: &Module<'_>,
    launch_parameters: &[String],
) -> Result<(), CudaBuilderError> {
    for function in module.functions() {
        if let Some((symbol, owner)) = supplied_elsewhere(function, launch_parameters)? {
            return Err(CudaBuilderError::SuppliedElsewhere {
                kernel: kernels_of(module, function.name()),
                symbol,
                owner,
            });
        }
    }
    Ok(())
}

fn supplied_elsewhere(
    function: &Function<'_>,
    launch_parameters: &[String],
) -> Result<Option<(String, &'static str)>, CudaBuilderError> {
    const OPTIX: &str = "OptiX supplies it, to programs that OptiX compiles";
    for instruction in function.instructions() {
        // optix_device calls OptiX through assembly.
        let callee = instruction.call()?.map(|call| call.callee);
        if let Some(Callee::Assembly { template, .. }) = callee
            && let Some(at) = template.find("_optix_")
        {
            let name = template[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_');
            return Ok(Some((name.collect(), OPTIX)));
        }
        for name in instruction.globals() {
            if name.starts_with("_optix_") || launch_parameters.iter().any(|other| other == name) {
                return Ok(Some((name.to_owned(), OPTIX)));
            }
            if name.starts_with("__nvvm_") {
                let owner =
                    "rust-cuda's compiler backend supplies it; `cuda_std` has a function for each";
                return Ok(Some((name.to_owned(), owner)));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_other_backend_are_refused_where_they_had_an_effect() {
        let file = Path::new("src/lib.rs");
        let declared = "extern \"C\" {\n #[cfg_attr(target_os = \"cuda\", nvvm_internal::addrspace(4))]\n static PARAMS: Params<'static>;\n}";
        assert_eq!(in_source(file, declared).unwrap(), ["PARAMS"]);
        for text in [
            "// #[nvvm_internal::kernel]\n#![register_attr(nvvm_internal)]",
            "const HELP: &str = \"#[nvvm_internal::kernel]\";",
            "const HELP: &str = r#\"\n#[nvvm_internal::kernel]\n\"#;",
            "/*\n#[nvvm_internal::kernel]\n*/",
            "use nvvm_internal::kernel;",
        ] {
            assert!(in_source(file, text).unwrap().is_empty(), "{text}");
        }
        for (text, attribute) in [
            (
                "\n#[nvvm_internal::addrspace(3)]\nstatic mut TILE: [u8; 4] = [0; 4];",
                "nvvm_internal::addrspace",
            ),
            (
                "\n#[nvvm_internal::kernel]\npub unsafe fn k() { g(); }",
                "nvvm_internal::kernel",
            ),
        ] {
            let error = in_source(file, text).unwrap_err();
            assert!(
                matches!(&error, CudaBuilderError::BackendAttribute { line: 2, attribute: a, .. } if a == attribute),
                "{error}"
            );
        }
    }

    #[test]
    fn a_text_that_speaks_of_such_attributes_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name| {
            let path = folder.path().join(name);
            std::fs::write(&path, "#[nvvm_internal::kernel] fn k() {}").unwrap();
            path
        };
        assert!(
            launch_parameters([write("notes.md")].into_iter())
                .unwrap()
                .is_empty()
        );
        assert!(launch_parameters([write("lib.rs")].into_iter()).is_err());
    }

    #[test]
    fn what_optix_and_the_other_backend_supply_is_named_with_the_kernel() {
        let module = |line: &str| {
            format!(
                "define ptx_kernel void @k() {{\n  call void @f()\n  ret void\n}}\ndefine void @f() {{\n  {line}\n  ret void\n}}\n"
            )
        };
        for (line, symbol) in [
            (
                "%1 = call i32 asm sideeffect \"call ($0), _optix_get_launch_index_x, ();\", \"=r\"()",
                "_optix_get_launch_index_x",
            ),
            (
                "%1 = call i32 @__nvvm_thread_idx_x()",
                "__nvvm_thread_idx_x",
            ),
            ("%1 = load i32, ptr @PARAMS, align 4", "PARAMS"),
        ] {
            let ir = module(line);
            let error = check(&Module::parse(&ir).unwrap(), &["PARAMS".to_owned()]).unwrap_err();
            assert!(
                matches!(&error, CudaBuilderError::SuppliedElsewhere { kernel, symbol: s, .. } if kernel == "k" && s == symbol),
                "{error}"
            );
        }
        let ir = module("%1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()");
        check(&Module::parse(&ir).unwrap(), &[]).unwrap();
    }
}
