//! The compiler and LLVM: which are found, which are refused.

use super::*;

#[test]
fn a_bare_machine_is_told_what_to_install() {
    let machine = MadeUp::new();
    let text = search(&machine).into_toolchain().unwrap_err().to_string();
    for part in [
        "environment: not set (BLOCKWISE_RUSTC, BLOCKWISE_CARGO, BLOCKWISE_LLVM_BIN)",
        "rustup: rustup is not installed",
        "usr/bin/rustc is not there",
        "rustup component add rust-src llvm-tools     once there is rustup: https://rustup.rs\n",
        "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src llvm-22",
        "blockwise setup",
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
    let text = search(&machine).into_toolchain().unwrap_err().to_string();
    assert!(text.contains("add rust-src llvm-tools\n"), "{text}");
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
