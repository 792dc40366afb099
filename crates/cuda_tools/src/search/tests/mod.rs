//! Discovery on artificial machines: real files in a temporary folder, programs that answer from a
//! table.

mod chosen;
mod toolchain;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::super::variables::{LIBDEVICE, PTXAS};
use super::super::{Ptxas, Version, libdevice, nvdisasm, ptxas};
use super::*;

const HOST: &str = "x86_64-unknown-linux-gnu";

/// A machine with only what a test puts there.
struct MadeUp {
    folder: tempfile::TempDir,
    variables: HashMap<&'static str, OsString>,
    answers: HashMap<(PathBuf, String), String>,
}

impl Machine for MadeUp {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).cloned()
    }

    fn home(&self) -> Option<PathBuf> {
        Some(self.path("home"))
    }

    fn root(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn output(&self, program: &Path, arguments: &[&str]) -> io::Result<String> {
        let answer = self.answers.get(&(program.to_owned(), arguments.join(" ")));
        answer
            .cloned()
            .ok_or_else(|| io::Error::other("exec format error"))
    }
}

impl MadeUp {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
            variables: HashMap::new(),
            answers: HashMap::new(),
        };
        std::fs::create_dir_all(machine.path("usr/bin")).unwrap();
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn program(&mut self, path: &str, arguments: &str, answer: String) {
        self.file(path, "");
        self.answers
            .insert((self.path(path), arguments.to_owned()), answer);
    }

    fn set(&mut self, variable: &'static str, path: &str) {
        self.variables.insert(variable, self.path(path).into());
    }

    /// A compiler and its cargo in `<sysroot>/bin`.
    fn compiler(&mut self, sysroot: &str, release: &str, llvm: &str) {
        let rustc = format!("{sysroot}/bin/rustc");
        let text = format!(
            "rustc {release} (abc 2026-01-01)\nbinary: rustc\nhost: {HOST}\nrelease: {release}\nLLVM version: {llvm}\n"
        );
        self.program(&rustc, "-vV", text);
        let folder = self.path(sysroot).display().to_string();
        self.program(&rustc, "--print sysroot", folder + "\n");
        self.file(&format!("{sysroot}/bin/cargo"), "");
    }

    fn source(&self, sysroot: &str) {
        self.file(
            &format!("{sysroot}/lib/rustlib/src/rust/library/core/src/lib.rs"),
            "",
        );
    }

    fn llvm(&mut self, folder: &str, suffix: &str, version: &str) {
        self.file(&format!("{folder}/llvm-link{suffix}"), "");
        self.file(&format!("{folder}/opt{suffix}"), "");
        let text = format!(
            "LLVM (http://llvm.org/):\n  Debian LLVM version {version}\n  Registered Targets:\n    nvptx64 - NVIDIA PTX 64-bit\n"
        );
        self.program(&format!("{folder}/llc{suffix}"), "--version", text);
    }

    /// rustup with an active toolchain 1.95.0, as a default installation has it.
    fn rustup(mut self) -> Self {
        self.set("PATH", "home/bin");
        let rustc = self.path("toolchain/bin/rustc").display().to_string();
        self.program("home/bin/rustup", "which rustc", rustc + "\n");
        self.compiler("toolchain", "1.95.0", "22.1.2");
        self
    }

    fn rustup_source(self) -> Self {
        self.source("toolchain");
        self
    }

    fn rustup_llvm(mut self) -> Self {
        self.llvm(
            &format!("toolchain/lib/rustlib/{HOST}/bin"),
            "",
            "22.1.2-rust-1.95.0-stable",
        );
        self
    }

    /// Debian's four packages.
    fn debian(mut self) -> Self {
        self.compiler("usr", "1.96.0", "22.1.8");
        self.source("usr");
        self.file("usr/lib/rustlib/src/rust/src/version", "1.96.0\n");
        self.llvm("usr/bin", "-22", "22.1.8");
        self
    }

    #[track_caller]
    fn found(&self) -> Toolchain {
        search(self)
            .into_toolchain()
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    fn check_found(&self, origin: Origin, rustc: &str, llc: &str) {
        let found = self.found();
        assert_eq!(
            (found.origin, found.rustc, found.llc),
            (origin, self.path(rustc), self.path(llc))
        );
    }

    /// Checks that no toolchain is found, and returns the reasons against one location.
    #[track_caller]
    fn reasons(&self, origin: Origin) -> Vec<Rejection> {
        let report = search(self);
        assert_eq!(report.chosen(), None);
        let place = report
            .candidates
            .into_iter()
            .find(|candidate| candidate.origin == origin);
        place.unwrap().verdict.unwrap_err()
    }
}
