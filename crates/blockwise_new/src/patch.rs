//! What a crate elsewhere lacks that depends on `blockwise` with `cuda`: cust's build script looks for
//! a CUDA toolkit, and the patch that keeps it from that is read in a workspace's root only.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_tools::Toolchain;
use toml_edit::{DocumentMut, Item};

use crate::stub;

/// What a workspace's root lacks.
#[derive(Debug, PartialEq)]
pub struct MissingPatch {
    /// What to write where, several lines.
    pub text: String,
    /// Whether the build fails without it: no CUDA toolkit is found.
    pub is_needed: bool,
}

/// What the workspace around this folder lacks, by its lock file, which a build that fails has
/// written. `None` if it does not use cust through Blockwise, or lacks nothing.
pub fn missing_patch(folder: &Path) -> Option<MissingPatch> {
    let root = (folder.ancestors()).find(|folder| folder.join("Cargo.lock").is_file())?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).ok()?;
    let place = place(&lock)?;
    // As projects of a registry have it.
    if stub::files(root).is_ok_and(|files| files.is_empty()) {
        return None;
    }
    let what = match place {
        Place::Git(entries) => in_the_manifest(root, &entries),
        Place::Checkout => {
            let stand_in = checkout(root);
            let path = stand_in.unwrap_or_else(|| "…/crates/find_cuda_helper".into());
            in_the_manifest(root, &format!("path = {path:?}"))
        }
        Place::Registry => in_files(root)?,
    };
    let is_needed = !has_toolkit(|name| std::env::var(name).ok());
    let why = match is_needed {
        true => "cust's build script fails (`Could not find a cuda installation`)",
        false => "cust's build script links the program with the CUDA toolkit that it finds",
    };
    let text = format!("{why}. So that no toolkit is needed, {what}");
    Some(MissingPatch { text, is_needed })
}

fn in_the_manifest(root: &Path, entries: &str) -> String {
    let manifest = root.join("Cargo.toml");
    format!(
        "{} needs:\n\n    [patch.crates-io]\n    find_cuda_helper = {{ {entries} }}\n",
        manifest.display()
    )
}

/// The same for packages of a registry, which have no patch.
fn in_files(root: &Path) -> Option<String> {
    let files = stub::files(root).ok()?;
    let text = |file: &stub::File| {
        let lines = file.text.lines().map(|line| format!("    {line}\n"));
        let lines: String = lines.collect();
        format!("{} needs:\n\n{lines}", file.path.display())
    };
    let texts: Vec<_> = files.iter().map(text).collect();
    Some(texts.join("\n"))
}

/// Where a workspace has Blockwise from.
#[derive(Debug, PartialEq)]
enum Place {
    /// The entries of a dependency.
    Git(String),
    Checkout,
    Registry,
}

/// Of a lock file in which cust's helper is not replaced.
fn place(lock: &str) -> Option<Place> {
    let lock: DocumentMut = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array_of_tables()?;
    let source = |name: &str| {
        let mut named = packages
            .iter()
            .filter(|package| is(package.get("name"), name));
        let source = named.next()?.get("source").and_then(Item::as_str);
        Some(source.unwrap_or_default())
    };
    let is_registry =
        |source: &str| source.starts_with("registry+") || source.starts_with("sparse+");
    if !is_registry(source("find_cuda_helper")?) {
        return None;
    }
    let of_ours = source("libcuda_loader")?;
    Some(match of_ours.strip_prefix("git+") {
        Some(git) => Place::Git(entries(git)),
        None if of_ours.is_empty() => Place::Checkout,
        None => Place::Registry,
    })
}

fn is(item: Option<&Item>, text: &str) -> bool {
    item.and_then(Item::as_str) == Some(text)
}

/// `URL?tag=v1#COMMIT` as a dependency's entries.
fn entries(git: &str) -> String {
    // cargo writes the slash of a branch so.
    let git = git
        .split('#')
        .next()
        .unwrap_or_default()
        .replace("%2F", "/");
    match git.split_once('?') {
        Some((url, at)) => match at.split_once('=') {
            Some((key, value)) => format!("git = \"{url}\", {key} = \"{value}\""),
            None => format!("git = \"{url}\""),
        },
        None => format!("git = \"{git}\""),
    }
}

/// The stand-in of the checkout that a package here depends on, which the lock file does not name.
fn checkout(root: &Path) -> Option<PathBuf> {
    let mut command = match Toolchain::find() {
        Ok(toolchain) => toolchain.command(),
        Err(_) => Command::new("cargo"),
    };
    command.args(["metadata", "--no-deps", "--format-version=1"]);
    let output = command.current_dir(root).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = text.split("\"path\":\"").skip(1);
    let mut stand_ins = paths.filter_map(|path| {
        let package = Path::new(path.split('"').next()?);
        Some(package.with_file_name("find_cuda_helper"))
    });
    stand_ins.find(|folder| folder.is_dir())
}

/// As cust's build script looks.
fn has_toolkit(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"].map(&variable);
    let roots = set.into_iter().flatten();
    let mut roots = roots.chain(["/usr/local/cuda", "/opt/cuda"].map(str::to_owned));
    let has_header = |root: String| Path::new(&root).join("include/cuda.h").is_file();
    variable("CUDA_LIBRARY_PATH").is_some() || roots.any(has_header)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn lock(packages: &[(&str, &str)]) -> String {
        let packages = packages.iter().map(|(name, source)| {
            let source = match source.is_empty() {
                true => String::new(),
                false => format!("source = \"{source}\"\n"),
            };
            format!("[[package]]\nname = \"{name}\"\nversion = \"0.2.0\"\n{source}\n")
        });
        packages.collect()
    }

    #[test]
    fn the_lock_file_says_where_blockwise_is_from() {
        let both = |ours: &str, helper: &str| {
            place(&lock(&[
                ("find_cuda_helper", helper),
                ("libcuda_loader", ours),
            ]))
        };
        let git = |entries: &str| Some(Place::Git(format!("git = \"https://a.b/c\"{entries}")));
        for (source, expected) in [
            ("git+https://a.b/c#0123", git("")),
            ("git+https://a.b/c?rev=01#0123", git(", rev = \"01\"")),
            (
                "git+https://a.b/c?branch=d%2Fe#0123",
                git(", branch = \"d/e\""),
            ),
            ("", Some(Place::Checkout)),
            (REGISTRY, Some(Place::Registry)),
        ] {
            assert_eq!(both(source, REGISTRY), expected, "{source}");
            // Patched.
            assert_eq!(both(source, ""), None, "{source}");
        }
        assert_eq!(place(&lock(&[("find_cuda_helper", REGISTRY)])), None);
        assert_eq!(place(&lock(&[("libcuda_loader", "")])), None);
        assert_eq!(place("no lock file"), None);
    }

    #[test]
    fn what_to_write_is_said_for_each_place() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("src");
        std::fs::create_dir(&inside).unwrap();
        let missing = |ours: &str| {
            let text = lock(&[("find_cuda_helper", REGISTRY), ("libcuda_loader", ours)]);
            std::fs::write(root.path().join("Cargo.lock"), text).unwrap();
            missing_patch(&inside)
        };
        assert_eq!(missing_patch(root.path()), None);
        let manifest = root.path().join("Cargo.toml").display().to_string();
        let text = missing("git+https://a.b/c?tag=v1#0123").unwrap().text;
        let lines = "    [patch.crates-io]\n    find_cuda_helper = { git = \"https://a.b/c\", tag = \"v1\" }\n";
        assert!(
            text.contains(&format!("{manifest} needs:\n\n{lines}")),
            "{text}"
        );
        let text = missing("").unwrap().text;
        let line = "    find_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\n";
        assert!(text.ends_with(line), "{text}");
        let text = missing(REGISTRY).unwrap().text;
        for part in [
            "no-cuda-toolkit/lib64/libcuda.a needs:\n\n    !<arch>\n",
            ".cargo/config.toml needs:\n\n    [env]\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        for file in stub::files(root.path()).unwrap() {
            std::fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            std::fs::write(&file.path, &file.text).unwrap();
        }
        assert_eq!(missing(REGISTRY), None);
    }

    #[test]
    fn a_toolkit_is_found_as_cust_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let set = |name: &'static str| {
            let value = folder.path().display().to_string();
            has_toolkit(move |asked| (asked == name).then(|| value.clone()))
        };
        assert!(set("CUDA_LIBRARY_PATH"));
        let elsewhere = set("CUDA_PATH");
        std::fs::create_dir(folder.path().join("include")).unwrap();
        std::fs::write(folder.path().join("include/cuda.h"), "").unwrap();
        assert!(set("CUDA_PATH") && set("CUDA_ROOT"));
        assert_eq!(elsewhere, set("NO_SUCH_VARIABLE"));
    }
}
