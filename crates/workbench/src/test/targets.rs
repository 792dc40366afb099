//! Checks that targets which cargo does not test contain no tests, unless `tests/unoptimised` has them.

use std::fs;
use std::path::Path;

use toml_edit::DocumentMut;

use crate::workspace;

/// Whether a source file in a folder has a line that begins with one of `starts`, after blanks.
fn has(folder: &Path, starts: &[&str]) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return has(&path, starts);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        let text = if is_source {
            fs::read_to_string(&path).unwrap()
        } else {
            String::new()
        };
        let mut lines = text.lines().map(str::trim_start);
        lines.any(|line| starts.iter().any(|start| line.starts_with(start)))
    })
}

#[test]
fn no_test_is_in_a_target_that_cargo_does_not_test() {
    let root = fs::read_to_string(workspace::root().join("Cargo.toml")).unwrap();
    let root: DocumentMut = root.parse().unwrap();
    let unoptimised = workspace::root().join("tests/unoptimised/Cargo.toml");
    let unoptimised = fs::read_to_string(unoptimised).unwrap();
    let members = root["workspace"]["members"].as_array().unwrap();
    let mut checked = 0;
    for member in members.iter().filter_map(|member| member.as_str()) {
        // Two members are patterns; the manifest says why.
        let folder = workspace::root().join(member.replace(['[', ']'], ""));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: DocumentMut = manifest.parse().unwrap();
        let src = folder.join("src");
        let Some(library) = manifest.get("lib").filter(|_| src.is_dir()) else {
            continue;
        };
        let is_off = |what: &str| library.get(what).and_then(|on| on.as_bool()) == Some(false);
        if is_off("test") {
            let elsewhere = unoptimised.contains(&format!("\"../../{member}/src/lib.rs\""));
            assert!(
                elsewhere || !has(&src, &["#[test]", "proptest!"]),
                "{member}"
            );
            checked += 1;
        }
        if is_off("doctest") {
            let starts = ["/// ```", "//! ```"];
            assert!(
                !has(&src, &starts),
                "{member}: an example in the documentation"
            );
            checked += 1;
        }
    }
    assert!(checked >= 30, "{checked}");
}
