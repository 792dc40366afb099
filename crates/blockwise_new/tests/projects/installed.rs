//! The way of somebody without a checkout: the command installed from an address, a project made by
//! it, built in a clone. Slow: cargo compiles everything once more, for packages of a repository are
//! others than those of a checkout.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, text};
use crate::{files, read, repository, whole_sweeps};

/// Copies what a clone has.
fn clone(from: &Path, to: &Path) {
    for file in files(from) {
        let inner = file.strip_prefix(from).unwrap();
        fs::create_dir_all(to.join(inner).parent().unwrap()).unwrap();
        fs::copy(&file, to.join(inner)).unwrap();
    }
}

#[test]
fn an_installed_programs_project_builds_in_a_clone_and_without_a_network() {
    if !whole_sweeps() {
        return;
    }
    if !repository().join(".git").exists() {
        println!("skipped: this is no clone, from which cargo could install");
        return;
    }
    let place = Place::new(&["installed", "clone", "vendored"]);
    let url = format!("file://{}", repository().display());
    let root = place.folder.join("root");
    let install = ["install", "--debug", "--locked", "--force", "--git", &url];
    let output = place
        .command(&place.folder, &install)
        .arg("--root")
        .arg(&root)
        .arg("blockwise_cli")
        .env_remove("CARGO_NET_OFFLINE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));

    let project = place.folder.join("installed");
    let output = Command::new(root.join("bin/blockwise"))
        .arg("new")
        .arg(&project)
        .env("XDG_CACHE_HOME", place.folder.join("cache"))
        .output()
        .unwrap();
    let said = text(&output);
    assert!(output.status.success() && said.contains(&url), "{said}");
    for file in files(&project) {
        let text = read(&file).replace(&url, "");
        let here = repository();
        assert!(!text.contains(here.to_str().unwrap()), "{}", file.display());
    }
    let manifest = read(project.join("Cargo.toml"));
    assert_eq!(manifest.matches("rev = \"").count(), 4, "{manifest}");

    let elsewhere = place.folder.join("clone");
    clone(&project, &elsewhere);
    let said = place.passes(&elsewhere, &["test"]);
    assert!(
        said.contains("test smooth_is_right_and_clean ... ok"),
        "{said}"
    );

    // Nothing but what is in the folder: no registry, no cache, and core from its source.
    let vendored = place.folder.join("vendored");
    clone(&elsewhere, &vendored);
    let output = place
        .command(&vendored, &["vendor", "--locked"])
        .env_remove("CARGO_NET_OFFLINE")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    fs::create_dir(vendored.join(".cargo")).unwrap();
    let settings =
        String::from_utf8(output.stdout).unwrap() + "\n[unstable]\nbuild-std = [\"std\"]\n";
    fs::write(vendored.join(".cargo/config.toml"), settings).unwrap();
    let output = place
        .command(&vendored, &["check"])
        .env("CARGO_HOME", vendored.join("home"))
        .env("XDG_CACHE_HOME", vendored.join("cache"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(vendored.join("cache/blockwise/sysroots").is_dir());
}
