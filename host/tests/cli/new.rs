//! Projects of one's own. That they build and pass is tested where they are made
//! (`crates/blockwise_new`).

use std::fs;

use crate::command::{Run, names, program};

#[test]
fn a_project_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let words = line.split_whitespace();
        Run::of(program().args(words).current_dir(folder.path()))
    };
    let made = run("new wave-tool").ends(0);
    assert!(
        made.stdout.starts_with("wave-tool: package `wave-tool`")
            && made.stdout.contains("cd wave-tool\n  cargo test "),
        "{made:?}"
    );
    run("new wave-tool").refused("wave-tool is a project already");
    run("new fn").refused("`fn` cannot be the package's name: it is a keyword of Rust");
    run("new other --source .").refused(". is no checkout of Blockwise");
    assert_eq!(names(folder.path()), ["wave-tool"]);
    let made = run("new two --name second --json").ends(0).json();
    assert_eq!(made["package"], "second");
    assert_eq!(made["files"].as_array().map(Vec::len), Some(15));
}

#[test]
fn a_kernel_is_added_to_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        Run::of(
            program()
                .args(["init", "--json"])
                .current_dir(folder.path()),
        )
    };
    let error = run().ends(2).json()["error"].to_string();
    assert!(error.contains("cannot read ./Cargo.toml"), "{error}");
    fs::write(folder.path().join("Cargo.toml"), "[package\n").unwrap();
    assert_eq!(
        run().json()["error"],
        "./Cargo.toml:1: unclosed table, expected `]`"
    );
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"waves\"\nversion = \"0.1.0\"\n",
    )
    .unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), "").unwrap();
    assert_eq!(run().ends(0).json()["package"], "waves");
    assert_eq!(
        names(folder.path()),
        ["Cargo.toml", "build.rs", "src", "tests"]
    );
    assert!(
        run().ends(2).json()["hint"]
            .to_string()
            .contains("cuda_builder::embed()")
    );
}
