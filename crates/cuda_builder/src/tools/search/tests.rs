//! Discovery on artificial machines: real files in a temporary folder, programs that answer from a
//! table.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::super::variables::{LIBDEVICE, PTXAS};
use super::super::{Ptxas, Version, libdevice, ptxas};
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

#[test]
fn a_bare_machine_is_told_what_to_install() {
    let machine = MadeUp::new();
    let text = search(&machine).into_toolchain().unwrap_err().to_string();
    for part in [
        "environment: not set (BLOCKWISE_RUSTC, BLOCKWISE_CARGO, BLOCKWISE_LLVM_BIN)",
        "rustup: rustup is not installed",
        "usr/bin/rustc is not there",
        "rustup component add rust-src llvm-tools",
        "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src llvm-22",
        "cargo xtask setup",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn rustup_with_both_components_comes_before_the_system() {
    let machine = MadeUp::new()
        .rustup()
        .rustup_source()
        .rustup_llvm()
        .debian();
    machine.check_found(
        Origin::Rustup,
        "toolchain/bin/rustc",
        &format!("toolchain/lib/rustlib/{HOST}/bin/llc"),
    );
    let found = machine.found();
    assert_eq!(found.cargo, machine.path("toolchain/bin/cargo"));
    assert_eq!(found.rustc_version, Version::new(1, 95, 0));
    assert_eq!(found.llvm_version, Version::new(22, 1, 2));
    assert_eq!(found.host, HOST);
}

#[test]
fn a_plain_rustup_lacks_both_components_and_says_so() {
    let machine = MadeUp::new().rustup();
    let reasons = machine.reasons(Origin::Rustup);
    assert!(
        matches!(
            reasons[..],
            [Rejection::NoSource { .. }, Rejection::NoLlvm { .. }]
        ),
        "{reasons:?}"
    );
}

#[test]
fn rustup_with_one_component_of_two_is_passed_over() {
    let source_only = MadeUp::new().rustup().rustup_source();
    assert!(matches!(
        source_only.reasons(Origin::Rustup)[..],
        [Rejection::NoLlvm { .. }]
    ));
    let llvm_only = MadeUp::new().rustup().rustup_llvm();
    assert!(matches!(
        llvm_only.reasons(Origin::Rustup)[..],
        [Rejection::NoSource { .. }]
    ));
    source_only
        .debian()
        .check_found(Origin::System, "usr/bin/rustc", "usr/bin/llc-22");
}

#[test]
fn a_rustup_that_cannot_name_its_compiler_is_passed_over() {
    let mut machine = MadeUp::new().rustup();
    machine
        .answers
        .remove(&(machine.path("home/bin/rustup"), "which rustc".to_owned()));
    let reasons = machine.reasons(Origin::Rustup);
    assert!(
        matches!(&reasons[..], [Rejection::DoesNotRun { program, .. }] if program.ends_with("rustup")),
        "{reasons:?}"
    );
    machine
        .debian()
        .check_found(Origin::System, "usr/bin/rustc", "usr/bin/llc-22");
}

#[test]
fn an_old_compiler_is_refused() {
    let mut machine = MadeUp::new().debian();
    machine.compiler("usr", "1.85.0", "19.1.7");
    let reasons = machine.reasons(Origin::System);
    assert!(
        matches!(
            reasons[..],
            [Rejection::OldRustc {
                found: Version { minor: 85, .. },
                ..
            }]
        ),
        "{reasons:?}"
    );
}

#[test]
fn the_source_of_another_compiler_is_refused() {
    let machine = MadeUp::new().debian();
    machine.file("usr/lib/rustlib/src/rust/src/version", "1.97.0\n");
    let reasons = machine.reasons(Origin::System);
    assert_eq!(
        reasons,
        [Rejection::SourceVersion {
            folder: machine.path("usr/lib/rustlib/src/rust"),
            found: Version::new(1, 97, 0),
            rustc: Version::new(1, 96, 0)
        }]
    );
}

#[test]
fn llvm_tools_older_than_the_compiler_are_refused() {
    let mut machine = MadeUp::new().debian();
    machine.compiler("usr", "1.98.0", "23.1.0");
    machine.file("usr/lib/rustlib/src/rust/src/version", "1.98.0");
    let reasons = machine.reasons(Origin::System);
    let old = Rejection::OldLlvm {
        folder: machine.path("usr/bin"),
        found: Version::new(22, 1, 8),
        needed: Version::new(23, 1, 0),
    };
    assert_eq!(reasons, [old]);
    assert!(
        reasons[0]
            .to_string()
            .ends_with("are 22.1.8, older than rustc's LLVM 23.1.0")
    );
}

#[test]
fn of_several_llvm_versions_the_nearest_that_is_not_older_is_taken() {
    let mut machine = MadeUp::new().debian();
    machine.llvm("usr/bin", "", "14.0.6");
    machine.llvm("usr/bin", "-9", "9.0.0");
    machine.llvm("usr/bin", "-23", "23.1.0");
    machine.check_found(Origin::System, "usr/bin/rustc", "usr/bin/llc-22");
    std::fs::remove_file(machine.path("usr/bin/opt-22")).unwrap();
    machine.check_found(Origin::System, "usr/bin/rustc", "usr/bin/llc-23");
}

#[test]
fn llvm_without_the_target_is_refused() {
    let mut machine = MadeUp::new().debian();
    machine.program(
        "usr/bin/llc-22",
        "--version",
        "LLVM version 22.1.8\n    x86-64".to_owned(),
    );
    let reasons = machine.reasons(Origin::System);
    assert_eq!(
        reasons,
        [Rejection::NoNvptx {
            llc: machine.path("usr/bin/llc-22")
        }]
    );
}

#[test]
fn a_compiler_without_its_cargo_is_refused() {
    let machine = MadeUp::new().debian();
    std::fs::remove_file(machine.path("usr/bin/cargo")).unwrap();
    assert_eq!(
        machine.reasons(Origin::System),
        [Rejection::NoFile {
            path: machine.path("usr/bin/cargo")
        }]
    );
}

#[test]
fn a_compiler_that_speaks_another_language_is_refused() {
    let mut machine = MadeUp::new().debian();
    machine.program("usr/bin/rustc", "-vV", "hello".to_owned());
    let reasons = machine.reasons(Origin::System);
    assert_eq!(
        reasons,
        [Rejection::Unreadable {
            program: machine.path("usr/bin/rustc"),
            what: "release"
        }]
    );
}

#[test]
fn the_environment_comes_first() {
    let mut machine = MadeUp::new()
        .rustup()
        .rustup_source()
        .rustup_llvm()
        .debian();
    machine.compiler("own", "1.97.0", "22.1.9");
    machine.source("own");
    machine.llvm("own-llvm", "-23", "23.0.0");
    machine.set(RUSTC, "own/bin/rustc");
    machine.set(LLVM_BIN, "own-llvm");
    machine.check_found(Origin::Environment, "own/bin/rustc", "own-llvm/llc-23");
    assert_eq!(machine.found().cargo, machine.path("own/bin/cargo"));
}

#[test]
fn each_half_of_the_environment_completes_itself() {
    let mut machine = MadeUp::new().rustup().debian();
    machine.set(CARGO, "usr/bin/cargo");
    machine.check_found(Origin::Environment, "usr/bin/rustc", "usr/bin/llc-22");

    // The rustup toolchain has no source, so the LLVM tools are used with the system's compiler.
    let mut machine = MadeUp::new().rustup().debian();
    machine.llvm("own-llvm", "", "22.1.8");
    machine.set(LLVM_BIN, "own-llvm");
    machine.check_found(Origin::Environment, "usr/bin/rustc", "own-llvm/llc");
    machine
        .rustup_source()
        .check_found(Origin::Environment, "toolchain/bin/rustc", "own-llvm/llc");
}

#[test]
fn a_variable_that_points_nowhere_is_an_error_even_if_another_place_would_do() {
    let mut machine = MadeUp::new().debian();
    machine.set(RUSTC, "nowhere/rustc");
    machine.set(LLVM_BIN, "nowhere");
    let reasons = machine.reasons(Origin::Environment);
    assert_eq!(
        reasons,
        [
            Rejection::Variable {
                variable: RUSTC,
                path: machine.path("nowhere/rustc")
            },
            Rejection::Variable {
                variable: LLVM_BIN,
                path: machine.path("nowhere")
            }
        ]
    );
    let text = search(&machine).into_toolchain().unwrap_err().to_string();
    assert!(text.contains("BLOCKWISE_RUSTC="), "{text}");
    assert!(text.contains("correct or unset the variable"), "{text}");
    assert!(!text.contains("apt-get"), "{text}");
}

#[test]
fn a_compiler_chosen_by_hand_is_held_to_the_same_rules() {
    let mut machine = MadeUp::new().rustup().debian();
    machine.set(RUSTC, "toolchain/bin/rustc");
    let reasons = machine.reasons(Origin::Environment);
    assert!(
        matches!(reasons[..], [Rejection::NoSource { .. }]),
        "{reasons:?}"
    );
}

fn ptxas_text(version: &str) -> String {
    format!(
        "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V{version}\nBuild cuda_13.0\n"
    )
}

#[test]
fn ptxas_is_taken_from_variable_toolkit_path_and_cache_in_this_order() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    let cached = format!(
        "cache/{}-{}/{}",
        ptxas::WHEEL.package,
        ptxas::WHEEL.version,
        ptxas::WHEEL.file
    );
    let places = [
        cached.as_str(),
        "usr/local/cuda/bin/ptxas",
        "path/ptxas",
        "toolkit/bin/ptxas",
        "own/ptxas",
    ];
    machine.set("PATH", "path");
    machine.set("CUDA_HOME", "toolkit");
    for (number, place) in places.into_iter().enumerate() {
        machine.program(place, "--version", ptxas_text(&format!("13.0.{number}")));
        if place == "own/ptxas" {
            machine.set(PTXAS, place);
        }
        let found = ptxas::find(&machine, &cache).unwrap();
        assert_eq!(
            found,
            Ptxas {
                path: machine.path(place),
                version: Version::new(13, 0, number as u32)
            }
        );
    }
}

#[test]
fn a_ptxas_that_does_not_run_is_passed_over_but_not_one_chosen_by_hand() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    machine.file("usr/local/cuda/bin/ptxas", "");
    let error = ptxas::find(&machine, &cache).unwrap_err().to_string();
    assert!(
        error.contains("cuda/bin/ptxas does not run: exec format error"),
        "{error}"
    );
    assert!(error.contains("cargo xtask setup"), "{error}");

    machine.set("CUDA_PATH", "toolkit");
    machine.program("toolkit/bin/ptxas", "--version", ptxas_text("12.9.86"));
    assert_eq!(
        ptxas::find(&machine, &cache).unwrap().version,
        Version::new(12, 9, 86)
    );

    machine.set(PTXAS, "nowhere/ptxas");
    let error = ptxas::find(&machine, &cache).unwrap_err().to_string();
    assert!(error.contains("BLOCKWISE_PTXAS: "), "{error}");
    assert!(error.contains("nowhere/ptxas is not there"), "{error}");
}

#[test]
fn libdevice_is_taken_from_variable_toolkit_and_cache_in_this_order() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    let error = libdevice::find_on(&machine, &cache)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("none in CUDA_HOME") && error.contains("cargo xtask setup"),
        "{error}"
    );
    let wheel = libdevice::WHEEL;
    let cached = format!("cache/{}-{}/{}", wheel.package, wheel.version, wheel.file);
    let places = [
        cached.as_str(),
        "usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
        "toolkit/nvvm/libdevice/libdevice.10.bc",
        "own.bc",
    ];
    machine.set("CUDA_PATH", "toolkit");
    for place in places {
        machine.file(place, "");
        if place == "own.bc" {
            machine.set(LIBDEVICE, place);
        }
        assert_eq!(
            libdevice::find_on(&machine, &cache).unwrap(),
            machine.path(place)
        );
    }
    machine.set(LIBDEVICE, "nowhere.bc");
    let error = libdevice::find_on(&machine, &cache)
        .unwrap_err()
        .to_string();
    assert!(error.contains("nowhere.bc does not exist"), "{error}");
}
