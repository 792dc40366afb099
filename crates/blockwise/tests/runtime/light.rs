//! A program that uses the runtime alone stays light.

use std::process::Command;

/// The packages that a program gets with these features, the library itself included.
fn packages(features: &str) -> usize {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none"])
        .args(["--no-default-features", "--features", features])
        .output()
        .expect("cargo runs");
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let text = String::from_utf8(tree.stdout).expect("cargo prints text");
    let mut names: Vec<_> = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// Most of them come with `cust`; two with the operating system's random numbers, two with DEFLATE.
#[test]
fn without_the_emulator_there_are_fewer_than_27_packages() {
    let with_cuda = packages("cuda");
    assert!((5..27).contains(&with_cuda), "{with_cuda} packages");
    assert!(packages("") < with_cuda);
}
