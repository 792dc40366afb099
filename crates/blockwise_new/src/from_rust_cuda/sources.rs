//! What a project's Rust sources use, as far as that decides what moves. They are never changed.

use std::collections::HashSet;
use std::path::Path;

use super::notes::Notes;
use crate::items::{Token, tokens};

/// A source file.
pub(super) struct Source {
    text: String,
    words: HashSet<String>,
}

/// Items of `cuda_builder` and its friends that a build script may use and that are not here.
const ABSENT: [(&[&str], &str); 8] = [
    (
        &[".", "optix", "(", "true"],
        "only OptiX compiles and launches such kernels: leave them, and what launches them, out of this build",
    ),
    (
        &[".", "nvptx_32", "(", "true"],
        "neither rustc nor CUDA has 32-bit PTX any more: remove the call",
    ),
    (
        &["find_optix_root"],
        "OptiX is not supported: remove what looks for it and builds against it",
    ),
    (
        &["find_cuda_root"],
        "no CUDA toolkit is needed: remove what looks for it",
    ),
    (
        &["find_cuda_lib_dirs"],
        "no CUDA toolkit is needed: remove what looks for it",
    ),
    (
        &["NvvmOption"],
        "libNVVM compiles nothing here: set its options by the methods of `CudaBuilder` (`ftz`, `fast_sqrt`, `fast_div`, `fma_contraction`)",
    ),
    (
        &["CratePathDoesntExist"],
        "`CudaBuilderError` has other variants here: print the error, it says what failed and what to do",
    ),
    (
        &["Compute73"],
        "there is no such GPU: name another architecture",
    ),
];

/// Modules that only the `cust_raw` of rust-cuda's main branch has.
const RAW_MODULES: [&str; 8] = [
    "driver_sys",
    "runtime_sys",
    "cublas_sys",
    "cublaslt_sys",
    "cublasxt_sys",
    "cudnn_sys",
    "nvptx_compiler_sys",
    "nvvm_sys",
];

/// Functions of `cuda_std::thread` that return a vector: vek's in 0.2.2, glam's in main.
const VECTORS: [&str; 6] = [
    "index_2d",
    "index_3d",
    "thread_idx",
    "block_idx",
    "block_dim",
    "grid_dim",
];

const FEATURE: [&str; 5] = ["#", "!", "[", "feature", "("];

impl Source {
    pub(super) fn new(text: String) -> Self {
        let words = match tokens(&text) {
            Some(tokens) => tokens
                .iter()
                .filter(|token| is_word(token))
                .map(|token| token.text.to_owned())
                .collect(),
            // It does not compile either; better too many words than too few.
            None => text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .map(str::to_owned)
                .collect(),
        };
        Self { text, words }
    }

    pub(super) fn names(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether a crate's root has unstable features on every target.
    pub(super) fn needs_nightly(&self) -> bool {
        let tokens = self.tokens();
        (0..tokens.len()).any(|at| is_at(&tokens, at, &FEATURE))
    }

    pub(super) fn names_vectors(&self) -> bool {
        VECTORS.iter().any(|word| self.names(word))
    }

    pub(super) fn names_raw_modules(&self) -> bool {
        RAW_MODULES.iter().any(|word| self.names(word))
    }

    /// The folders in `CudaBuilder::new("…")`, relative to the package.
    pub(super) fn kernel_crates(&self) -> Vec<&str> {
        if !self.names("CudaBuilder") {
            return Vec::new();
        }
        let tokens = self.tokens();
        let after = ["CudaBuilder", ":", ":", "new", "("];
        let starts = (0..tokens.len()).filter(|at| is_at(&tokens, *at, &after));
        starts
            .filter_map(|at| string(tokens.get(at + after.len())?))
            .collect()
    }

    /// The names of PTX files that it includes, each with its line.
    fn included(&self) -> Vec<(usize, &str)> {
        if !self.names("include_str") && !self.names("include_bytes") {
            return Vec::new();
        }
        let tokens = self.tokens();
        let mut files = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if !matches!(token.text, "include_str" | "include_bytes")
                || !is_at(&tokens, at + 1, &["!", "("])
            {
                continue;
            }
            let inside = tokens[at + 3..]
                .iter()
                .take_while(|inner| inner.depth > token.depth || inner.text != ")");
            let file = inside.filter_map(string).last();
            let file = file.and_then(|file| file.rsplit('/').next());
            files.extend(
                file.filter(|file| file.ends_with(".ptx"))
                    .map(|file| (self.line(token.at), file)),
            );
        }
        files
    }

    fn tokens(&self) -> Vec<Token<'_>> {
        let mut all = tokens(&self.text).unwrap_or_default();
        all.retain(|token| !token.is_comment());
        all
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// Adds what has to be changed by hand. `shown` is the file, `scripts` the build scripts of
    /// the project.
    pub(super) fn look_for_obstacles(&self, shown: &str, scripts: &[&Source], notes: &mut Notes) {
        let tokens = self.tokens();
        let uses_builder = self.names("CudaBuilder") || self.names("find_cuda_helper");
        for (at, token) in tokens.iter().enumerate() {
            let place = || format!("{shown}:{}", self.line(token.at));
            for (pattern, advice) in ABSENT.iter().filter(|_| uses_builder) {
                if is_at(&tokens, at, pattern) {
                    let what = pattern
                        .concat()
                        .trim_start_matches('.')
                        .replace("(true", "(true)");
                    notes.todo(place(), format!("`{what}`: {advice}"));
                }
            }
            if token.text.contains("RUST_CUDA_CODEGEN_BACKEND") {
                notes.todo(place(), "there is no compiler backend to name here: `CudaBuilder::new` has the kernel crate as its only parameter");
            }
            if is_at(&tokens, at, &FEATURE) {
                notes.known(place(), "`#![feature(…)]` needs a nightly compiler on the host's side, of March 2026 or later; for the device it works with any");
            }
            if token.text.starts_with("__raygen__") || token.text.starts_with("_optix_") {
                notes.todo(
                    place(),
                    format!(
                        "`{}` belongs to OptiX, which is not supported: leave it out of this build",
                        token.text
                    ),
                );
            }
        }
        for (line, file) in self.included() {
            // A script that computes the name is believed.
            let is_written = scripts.iter().any(|script| {
                script.text.contains(file)
                    || script.text.contains("\"ptx\"")
                    || script.text.contains("}.ptx")
            });
            if !is_written {
                notes.todo(
                    format!("{shown}:{line}"),
                    format!("no build script here writes `{file}`, so it is what rust-cuda compiled: let the package's build.rs write it, `cuda_builder::CudaBuilder::new(\"KERNEL CRATE\").copy_to(\"PATH/{file}\").build().unwrap();`"),
                );
            }
        }
    }

    /// Says of a build script that builds kernels why it needs no edit.
    pub(super) fn describe_script(&self, shown: &str, notes: &mut Notes) {
        if !self.names("CudaBuilder") {
            return;
        }
        if !notes.has_todo(shown) {
            notes.known(
                shown.to_owned(),
                "the calls of `CudaBuilder` work as they are",
            );
        }
        if !self.names("arch") {
            notes.known(shown.to_owned(), "without `.arch(…)` the kernels are for GPUs from Ampere on (`Compute80`); older ones need `.arch(NvvmArch::Compute75)`");
        }
    }
}

/// Whether a file is the build script of the package in the folder.
pub(super) fn is_script(file: &Path, package: &Path, named: Option<&str>) -> bool {
    file == package.join(named.unwrap_or("build.rs"))
}

fn is_word(token: &Token<'_>) -> bool {
    token
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !token.text.ends_with(['"', '\'', '#'])
}

fn is_at(tokens: &[Token<'_>], at: usize, pattern: &[&str]) -> bool {
    let found = tokens.get(at..at + pattern.len());
    found.is_some_and(|found| {
        found
            .iter()
            .map(|token| token.text)
            .eq(pattern.iter().copied())
    })
}

/// The contents of a string literal without escapes.
fn string<'a>(token: &Token<'a>) -> Option<&'a str> {
    let text = token.text.strip_prefix('r').unwrap_or(token.text);
    let text = text.trim_matches('#').strip_prefix('"')?;
    text.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(text: &str, script: &str) -> Vec<String> {
        let (source, script) = (Source::new(text.to_owned()), Source::new(script.to_owned()));
        let mut notes = Notes::default();
        source.look_for_obstacles("f.rs", &[&script], &mut notes);
        notes.all()
    }

    #[test]
    fn what_only_comments_and_strings_say_is_not_used() {
        let source = Source::new(
            "// vek\n/* index_2d */ const A: &str = \"driver_sys\"; fn vector() { block_idx_x(); }"
                .to_owned(),
        );
        assert!(!source.names("vek") && !source.names_vectors() && !source.names_raw_modules());
        assert!(source.names("vector"));
        let source = Source::new(
            "use cuda_std::vek::Vec2; fn f(at: Vec2<u32>) { thread::block_idx().x }".to_owned(),
        );
        assert!(source.names("vek") && source.names_vectors());
    }

    #[test]
    fn kernel_crates_are_read_from_literals() {
        let source = Source::new("CudaBuilder::new(\"../gpu\"); cuda_builder::CudaBuilder::new(r\"a/b\"); CudaBuilder::new(path.join(\"kernels\")); // CudaBuilder::new(\"no\")".to_owned());
        assert_eq!(source.kernel_crates(), ["../gpu", "a/b"]);
    }

    #[test]
    fn each_obstacle_is_found_with_its_line() {
        for (text, said) in [
            (
                "fn main() {\n    CudaBuilder::new(\"k\")\n        .optix(true)",
                "",
            ),
            (
                "fn main() {\n    CudaBuilder::new(\"k\")\n        .optix(true); }",
                "f.rs:3: `optix(true)`: only OptiX",
            ),
            (
                "use cuda_builder::{CudaBuilder, NvvmOption};",
                "f.rs:1: `NvvmOption`: libNVVM",
            ),
            (
                "use find_cuda_helper::find_optix_root;",
                "f.rs:1: `find_optix_root`: OptiX",
            ),
            (
                "fn main() { CudaBuilder::new(\"k\", env::var(\"RUST_CUDA_CODEGEN_BACKEND\")); }",
                "f.rs:1: there is no compiler backend",
            ),
            (
                "fn main() {}\n#[kernel] pub unsafe fn __raygen__r() {}",
                "f.rs:2: `__raygen__r` belongs to OptiX",
            ),
            (
                "#![feature(asm_const)]",
                "f.rs:1: `#![feature(…)]` needs a nightly",
            ),
            (
                "#![cfg_attr(target_os = \"cuda\", no_std, feature(register_attr))]",
                "",
            ),
            ("fn optix(on: bool) { builder.optix(true) }", ""),
            ("CudaBuilder::new(\"k\").optix(false);", ""),
        ] {
            let all = notes(text, "");
            assert_eq!(all.is_empty(), said.is_empty(), "{text}: {all:?}");
            assert!(
                all.iter().all(|note| note.starts_with(said)),
                "{text}: {all:?}"
            );
        }
    }

    #[test]
    fn ptx_that_no_build_script_writes_is_named() {
        let host = "static A: &str = include_str!(\"../../resources/add.ptx\");\nstatic B: &str =\n    include_str!(concat!(env!(\"OUT_DIR\"), \"/kernels.ptx\"));\nstatic C: &str = include_str!(\"notes.txt\");";
        let found = notes(host, "");
        assert!(
            matches!(&found[..], [a, b] if a.starts_with("f.rs:1: no build script here writes `add.ptx`") && b.starts_with("f.rs:3: ")),
            "{found:?}"
        );
        assert_eq!(
            notes(
                host,
                "copy_to(\"../resources/add.ptx\"); copy_to(out.join(\"kernels.ptx\"))"
            )
            .len(),
            0
        );
        assert_eq!(
            notes(
                host,
                "for name in names { copy_to(format!(\"{name}.ptx\")) }"
            )
            .len(),
            0
        );
    }
}
