//! The page's scripts name their types in comments, and TypeScript's checker agrees.

use std::process::Command;

use crate::root;

#[test]
fn the_pages_types_are_right() {
    let Ok(version) = Command::new("tsc").arg("--version").output() else {
        println!("skipped: no tsc here; `cargo xtask setup --browser` installs it");
        return;
    };
    let folder = root().join("crates/blockwise_viewer/web");
    let scripts = std::fs::read_dir(&folder).expect("the page's folder");
    let scripts = scripts.map(|entry| entry.expect("an entry").path());
    let scripts: Vec<_> = scripts
        .filter(|path| path.extension().is_some_and(|ending| ending == "js"))
        .collect();
    assert!(!scripts.is_empty(), "{folder:?}");
    let checked = Command::new("tsc")
        .args(["--allowJs", "--checkJs", "--noEmit", "--strict", "false"])
        .args(["--target", "es2022", "--lib", "es2022,dom,dom.iterable"])
        .args(scripts)
        .output()
        .expect("tsc");
    let version = String::from_utf8_lossy(&version.stdout);
    let errors = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "tsc {version}{errors}");
}
