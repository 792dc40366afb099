//! Manifests for core, alloc and compiler_builtins where they lie in the compiler's source. Those that
//! lie there too need a nightly cargo, and a registry for what other targets use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{CudaBuilderError, io_error};
use crate::tools::Toolchain;

/// The package that is built: cargo then reports the archives of its dependencies.
const ROOT: &str = r#"[package]
name = "needs_core"
edition = "2024"
[lib]
path = "lib.rs"
[workspace]
[dependencies]
alloc = { path = "alloc" }
compiler_builtins = { path = "compiler_builtins" }
core = { path = "core" }
"#;

/// Each library: its name, its folder in the source, what its manifest has besides.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("core", "core", ""),
    (
        "alloc",
        "alloc",
        "[dependencies]\ncore = { path = \"../core\" }\n\
         compiler_builtins = { path = \"../compiler_builtins\" }\n",
    ),
    (
        "compiler_builtins",
        "compiler-builtins/compiler-builtins",
        // The feature by which the compiler's own build marks it, by its present and its older name.
        "[features]\ndefault = [\"compiler-builtins\", \"rustc-dep-of-std\"]\n\
         compiler-builtins = []\nrustc-dep-of-std = []\n\
         [dependencies]\ncore = { path = \"../core\" }\n",
    ),
];

/// Writes them into a folder; returns the path of the one to build.
pub(super) fn write(toolchain: &Toolchain, folder: &Path) -> Result<PathBuf, CudaBuilderError> {
    for (name, place, rest) in LIBRARIES {
        let source = toolchain.library.join(place);
        let text = manifest(name, &source, rest)?;
        write_file(&folder.join(name).join("Cargo.toml"), &text)?;
    }
    write_file(&folder.join("lib.rs"), "")?;
    let root = folder.join("Cargo.toml");
    write_file(&root, ROOT)?;
    Ok(root)
}

fn manifest(name: &str, source: &Path, rest: &str) -> Result<String, CudaBuilderError> {
    let own = source.join("Cargo.toml");
    let own = fs::read_to_string(&own).map_err(io_error("read", own))?;
    let edition = (own.lines().find(|line| line.starts_with("edition = "))).unwrap_or_default();
    let script = source.join("build.rs");
    let script = match script.is_file() {
        true => format!("build = {}\n", quoted(&script)),
        false => String::new(),
    };
    let library = quoted(&source.join("src/lib.rs"));
    Ok(format!(
        "[package]\nname = \"{name}\"\n{edition}\n{script}[lib]\npath = {library}\n{rest}\
         [lints.rust]\nwarnings = \"allow\"\n"
    ))
}

/// A path as TOML writes it: as JSON does.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

fn write_file(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(io_error("write", path))
}
