//! Workspaces for the tests, in one folder; core is built once for each set of compiler flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use cuda_builder::{CudaBuilder, CudaBuilderError};

/// A blank in the path, so that every test is one with such a path.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let mut folder = tempfile::Builder::new();
    folder.prefix("kernels of mine ").tempdir().unwrap()
});

/// The workspace of this name; new ones are made. Each test has its own, so that tests run side by
/// side: cargo reads every manifest of a workspace, also one that another test is writing.
pub(crate) fn workspace(name: &str) -> PathBuf {
    let folder = FOLDER.path().join(name);
    if !folder.exists() {
        start_workspace(&folder);
        // core is there already when the repository's own kernels are.
        share(&folder.join("target"), "cuda-builder");
    }
    folder
}

/// Every folder in `members` is a member. The workspace uses the repository's tools, which need
/// fetching once.
pub(crate) fn start_workspace(folder: &Path) {
    fs::create_dir_all(folder.join("target")).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"members/*\"]\n",
    )
    .unwrap();
    copy_lock_file(folder);
    share(&folder.join("target"), "tools");
}

/// The repository's lock file: the same versions, nothing to look up.
pub(crate) fn copy_lock_file(folder: &Path) {
    fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// Makes a part of the repository's target folder one of another target folder too.
pub(crate) fn share(target: &Path, part: &str) {
    let folder = repository().join("target").join(part);
    for folder in [&folder, target] {
        fs::create_dir_all(folder).unwrap();
    }
    #[cfg(unix)]
    if let Err(error) = std::os::unix::fs::symlink(folder, target.join(part)) {
        // Another test may just have made it.
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{error}");
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A member of the workspace of its own name.
pub(crate) fn member(name: &str, manifest: &str, source: &str) -> PathBuf {
    write_member(&workspace(name), name, manifest, source)
}

/// A member with cuda_std, `manifest`'s lines at the end of its dependencies, and the source.
pub(crate) fn write_member(workspace: &Path, name: &str, manifest: &str, source: &str) -> PathBuf {
    let folder = workspace.join("members").join(name);
    write_package(&folder, name, manifest, source);
    folder
}

pub(crate) fn write_package(folder: &Path, name: &str, manifest: &str, source: &str) {
    fs::create_dir_all(folder.join("src")).unwrap();
    let cuda_std = repository().join("crates/cuda_std");
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             cuda_std = {{ package = \"blockwise_std\", path = {cuda_std:?}, default-features = false }}\n{manifest}\n"
        ),
    )
    .unwrap();
    fs::write(folder.join("src/lib.rs"), source).unwrap();
}

/// Writes a member with the prelude in front and builds it without line information, so that no
/// path gets into the PTX.
pub(crate) fn build(name: &str, source: &str) -> Result<PathBuf, CudaBuilderError> {
    let source = format!("use cuda_std::prelude::*;\n{source}");
    let folder = member(name, "", &source);
    CudaBuilder::new(folder).generate_line_info(false).build()
}

/// Whether to run what compiles from nothing, a minute of a processor each, and can hardly break
/// unnoticed by the other tests: `cargo xtask test --all`. Says what is left to that.
pub(crate) fn whole_sweeps(what: &str) -> bool {
    let all = std::env::var_os("BLOCKWISE_TEST_ALL").is_some();
    if !all {
        println!("left to `cargo xtask test --all`: {what}");
    }
    all
}

/// Kernels of several tests in one crate, each test's in a module of its own.
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    pub(crate) ptx: String,
}

pub(crate) static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let modules = [
        ("tile", crate::TILE.to_owned()),
        ("given", crate::GIVEN.to_owned()),
        ("vecadd", crate::panics::VECADD.to_owned()),
        ("cheap", crate::panics::cheap()),
        ("own_stack", crate::stack::source()),
    ];
    let modules = modules.map(|(name, source)| {
        format!("pub mod {name} {{\nuse cuda_std::prelude::*;\n{source}\n}}\n")
    });
    let path = build("shared", &modules.concat()).unwrap();
    let ptx = text(&path);
    Shared { path, ptx }
});

impl Shared {
    /// A kernel's code with its record.
    pub(crate) fn kernel(&self, name: &str) -> String {
        let part = |from: String, to: &str| {
            let start = self.ptx.find(&from).unwrap_or_else(|| panic!("{from}"));
            let end = self.ptx[start..].find(to).unwrap() + to.len();
            &self.ptx[start..start + end]
        };
        let record = part(
            format!(".visible .global .align 8 .b64 {name}__signature["),
            "\n",
        );
        record.to_owned() + part(format!(".visible .entry {name}("), "\n}\n")
    }
}

pub(crate) fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// The folder that a test was started with by [`in_child`]; none in an ordinary run.
pub(crate) fn child_folder() -> Option<PathBuf> {
    std::env::var_os("CUDA_BUILDER_TEST").map(PathBuf::from)
}

/// Runs one test of this program in another process, where it finds `folder` and the variables. As
/// in a build script, `OUT_DIR` is set: to the repository's target folder, so that what is built
/// there is used.
pub(crate) fn in_child(test: &str, folder: &Path, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("CUDA_BUILDER_TEST", folder)
        .env("OUT_DIR", repository().join("target"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[track_caller]
pub(crate) fn assert_success(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    stdout
}
