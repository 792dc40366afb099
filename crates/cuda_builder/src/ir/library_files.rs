//! Gives the source files of libraries names that say so.
//!
//! With rustup's toolchain, cargo compiles `core` and `alloc` in their own folders, and rustc
//! records their files as `src/ptr/mod.rs` with the folder separately. Comments in PTX have only
//! the name, which looks like a file of the user's crate. This pass turns it into
//! `library/core/src/ptr/mod.rs`; the complete path stays the same. Debian's toolchain records
//! complete paths. In the same way `src/lib.rs` of the device API becomes `cuda_std/src/lib.rs`, and
//! that of a crate from a registry `glam-0.30.1/src/lib.rs`.

use super::module::{Item, Module};
use crate::error::CudaBuilderError;

/// The crates of the device API.
const OWN: [&str; 2] = ["cuda_std", "launch_contract"];
/// Where cargo keeps the sources of crates from registries.
const REGISTRY: &str = "/registry/src/";

/// The library crates that kernels are built from.
const CRATES: [&str; 3] = ["core", "alloc", "compiler-builtins"];

/// Moves the library's folder from a file's directory to its name.
pub(crate) fn name(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for item in &mut module.items {
        if let Item::Metadata(node) = item
            && let Some(named) = of_library(node.node())
        {
            node.replace(&named);
        }
    }
    Ok(())
}

/// The node of a library file with its longer name; `None` for any other node.
fn of_library(node: &str) -> Option<String> {
    let rest = node.strip_prefix("!DIFile(filename: \"")?;
    let (file, rest) = rest.split_once("\", directory: \"")?;
    let (directory, rest) = rest.split_once('"')?;
    if let Some((source, folder)) = directory.rsplit_once('/')
        && (is_own(folder) || directory.contains(REGISTRY))
        && !file.starts_with('/')
    {
        return Some(format!(
            "!DIFile(filename: \"{folder}/{file}\", directory: \"{source}\"{rest}"
        ));
    }
    let (source, folder) = directory.rsplit_once("/library/")?;
    let of_library = folder
        .split('/')
        .next()
        .is_some_and(|name| CRATES.contains(&name));
    (of_library && !file.starts_with('/')).then(|| {
        format!("!DIFile(filename: \"library/{folder}/{file}\", directory: \"{source}\"{rest}")
    })
}

/// `cuda_std`, or `cuda_std-0.2.3`.
fn is_own(folder: &str) -> bool {
    OWN.iter().any(|name| {
        let version = folder.strip_prefix(name);
        version.is_some_and(|version| version.is_empty() || version.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::name;
    use crate::ir::testing::rewritten;

    #[track_caller]
    fn check(file: &str, directory: &str, expected: Option<(&str, &str)>) {
        let line = |(file, directory): (&str, &str)| {
            format!(
                "!7 = !DIFile(filename: \"{file}\", directory: \"{directory}\", checksumkind: CSK_MD5, checksum: \"1f\")\n"
            )
        };
        let given = line((file, directory));
        assert_eq!(rewritten(&given, name), expected.map_or(given, line));
    }

    #[test]
    fn files_of_the_library_get_its_folder() {
        let source = "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust";
        check(
            "src/ptr/mod.rs",
            &format!("{source}/library/core"),
            Some(("library/core/src/ptr/mod.rs", source)),
        );
        check(
            "src/math.rs",
            "/rust/library/compiler-builtins/compiler-builtins",
            Some((
                "library/compiler-builtins/compiler-builtins/src/math.rs",
                "/rust",
            )),
        );
    }

    #[test]
    fn files_of_the_device_api_and_of_registries_get_their_crates_folder() {
        for (file, directory, expected) in [
            (
                "src/lib.rs",
                "/b/crates/cuda_std",
                ("cuda_std/src/lib.rs", "/b/crates"),
            ),
            (
                "src/a.rs",
                "/c/cuda_std-0.2.3",
                ("cuda_std-0.2.3/src/a.rs", "/c"),
            ),
            (
                "src/a.rs",
                "/c/launch_contract",
                ("launch_contract/src/a.rs", "/c"),
            ),
            (
                "src/vec.rs",
                "/h/.cargo/registry/src/index-1/glam-0.30.1",
                ("glam-0.30.1/src/vec.rs", "/h/.cargo/registry/src/index-1"),
            ),
        ] {
            check(file, directory, Some(expected));
        }
    }

    #[test]
    fn other_files_and_whole_paths_keep_their_names() {
        check("src/lib.rs", "/home/me/library/kernels", None);
        check("kernels/src/lib.rs", "/home/me/project", None);
        check("src/lib.rs", "/home/me/my_cuda_std", None);
        check("src/lib.rs", "/h/.cargo/git/checkouts/mine-1/1234567", None);
        check("/b/cuda_std/src/lib.rs", "/b/cuda_std", None);
        check("library/core/src/lib.rs", "/usr/src/rustc-1.96.0", None);
        check("/rust/library/core/src/lib.rs", "/rust/library/core", None);
    }
}
