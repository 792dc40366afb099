//! Where a program built from a clone of cargo's or from a registry's package comes from, and the
//! files of the repository that every project copies.

#[path = "src/address.rs"]
mod address;

use std::path::{Path, PathBuf};
use std::{env, fs};

use address::without_secret;

/// Also in `src/source.rs`.
const COPIED: [&str; 2] = ["Cargo.lock", "rust-toolchain.toml"];

fn main() {
    let variable = |name| PathBuf::from(env::var_os(name).unwrap_or_default());
    let (own, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    let root = own.ancestors().nth(2).unwrap_or(&own);
    for own in ["build.rs", "src/address.rs"] {
        println!("cargo::rerun-if-changed={own}");
    }
    for name in COPIED {
        let file = root.join(name);
        // A package of a registry has no repository around it.
        let text = fs::read(&file).unwrap_or_default();
        if !text.is_empty() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        if let Err(error) = fs::write(out.join(name), text) {
            println!("cargo::error={}: {error}", out.display());
        }
    }
    // Cargo packs the manifest as it was, and the commit, if there was one.
    if own.join("Cargo.toml.orig").is_file() {
        println!("cargo::rustc-env=BLOCKWISE_PACKAGED=1");
        let commit = fs::read_to_string(own.join(".cargo_vcs_info.json")).ok();
        if let Some(commit) = commit.as_deref().and_then(packed_commit) {
            println!("cargo::rustc-env=BLOCKWISE_GIT_COMMIT={commit}");
        }
    } else if let Some((url, commit)) = cargos_clone(root) {
        println!("cargo::rustc-env=BLOCKWISE_GIT_URL={url}");
        println!("cargo::rustc-env=BLOCKWISE_GIT_COMMIT={commit}");
    }
}

/// Of `{"git": {"sha1": "HASH", ..}, ..}`.
fn packed_commit(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let is_hash = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    is_hash.then_some(commit)
}

/// The address and the commit of a clone that cargo made, for `cargo install --git` and for
/// dependencies. Cargo keeps what it fetches in `git/db/NAME`, where git notes the address, and
/// checks commits out from there in `git/checkouts/NAME/COMMIT`.
fn cargos_clone(root: &Path) -> Option<(String, String)> {
    if !root.join(".cargo-ok").is_file() {
        return None;
    }
    let name = root.parent()?;
    let fetched = name.parent()?.parent()?.join("db").join(name.file_name()?);
    let fetched = fs::read_to_string(fetched.join("FETCH_HEAD")).ok()?;
    Some((address(&fetched)?, commit(&root.join(".git"))?))
}

/// `HASH <tab> not-for-merge <tab> branch 'main' of URL`, or only the address at the end.
fn address(fetched: &str) -> Option<String> {
    let last = fetched.lines().next()?.rsplit('\t').next()?;
    let url = last.rsplit(" of ").next()?.trim();
    (url.contains("://")).then(|| without_secret(url))
}

/// The commit that is checked out: in HEAD itself, or in the branch that it names.
fn commit(git: &Path) -> Option<String> {
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head,
        Some(branch) => fs::read_to_string(git.join(branch)).ok().or_else(|| {
            let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
            let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
            let line = lines.find(|(_, name)| *name == branch)?;
            Some(line.0.to_owned())
        })?,
    };
    let commit = commit.trim();
    let is_hash = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    is_hash.then(|| commit.to_owned())
}
