//! Reuses an earlier project's compiled dependencies in a new one.
//!
//! Projects of one Blockwise have the same dependencies, and compiling them takes minutes. Each
//! project's folder is recorded in a list: of a checkout in its `target/projects`, of a repository's
//! commit in the user's cache. A new project starts with the
//! dependencies that the latest of them has compiled: libraries as hard links, everything else as
//! copies that keep their times. Cargo decides as usual what is fresh and compiles the rest;
//! replacing a file in one project does not change it in the other.
//!
//! The earlier project's own packages are left out. Cargo distinguishes a workspace's packages by
//! their path inside it, so another workspace's could be mistaken for this one's.
//!
//! Nothing here fails: without reuse, the first build just takes longer.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

/// Where cargo writes in a project.
const TARGET: &str = "target";

/// How many projects the list keeps.
const KEPT: usize = 16;

/// Cargo's folder of compiled units, with one folder per unit, named `PACKAGE-HASH`.
const UNITS: &str = ".fingerprint";

/// Profile folders are at most this deep: `cuda-builder/sm_80/nvptx64-nvidia-cuda/release`.
const DEPTH: usize = 4;

/// Gives a new project the dependencies of the latest one that has compiled any, and records the
/// new one in the list, where the latest is last. Returns the earlier project's folder. Packages of a
/// checkout are not the project's own.
pub(crate) fn dependencies(
    list: &Path,
    checkout: Option<&Path>,
    project: &Path,
) -> Option<PathBuf> {
    let text = fs::read_to_string(list).unwrap_or_default();
    let projects: Vec<&Path> = text.lines().map(Path::new).collect();
    // A target folder shared by all projects needs nothing.
    let shared = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
    let is_shared = shared.iter().any(|name| std::env::var_os(name).is_some());
    let mut earlier = projects.iter().rev().filter(|_| !is_shared);
    let found = earlier.find(|earlier| link_from(checkout, earlier, project) > 0);
    note(list, &projects, project);
    found.map(|found| found.to_path_buf())
}

/// Adds a project to the list. Two concurrent commands may lose one of their entries.
fn note(list: &Path, projects: &[&Path], project: &Path) {
    let others = projects.iter().filter(|other| **other != project);
    let all: Vec<_> = others
        .chain([&project])
        .filter_map(|path| path.to_str())
        .collect();
    let kept = &all[all.len().saturating_sub(KEPT)..];
    let _ = list.parent().map_or(Ok(()), fs::create_dir_all);
    let _ = fs::write(list, kept.join("\n") + "\n");
}

/// Links an earlier project's dependencies; returns the number of units.
fn link_from(checkout: Option<&Path>, earlier: &Path, project: &Path) -> usize {
    let names = dependency_names(checkout, earlier);
    let mut profiles = Vec::new();
    find_profiles(&earlier.join(TARGET), DEPTH, &mut profiles);
    let mut units = 0;
    for profile in profiles {
        let Ok(inside) = profile.strip_prefix(earlier) else {
            continue;
        };
        // Half a profile does no harm: cargo compiles what is missing.
        units += link_profile(&profile, &project.join(inside), &names).unwrap_or(0);
    }
    units
}

/// The packages that an earlier project did not write itself: those in its lock file that come from
/// a registry or a repository, and the checkout's.
fn dependency_names(checkout: Option<&Path>, earlier: &Path) -> HashSet<String> {
    let text = fs::read_to_string(earlier.join("Cargo.lock")).unwrap_or_default();
    let lock: DocumentMut = text.parse().unwrap_or_default();
    let packages = lock
        .get("package")
        .and_then(|item| item.as_array_of_tables());
    let (fetched, local): (Vec<_>, Vec<_>) = (packages.into_iter().flatten())
        .filter_map(|package| Some((package.get("name")?.as_str()?, package.get("source"))))
        .partition(|(_, source)| source.is_some());
    let mut names: HashSet<_> = fetched.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (name, _) in local {
        // A crate's folder in the checkout has the package's name.
        if checkout.is_some_and(|checkout| checkout.join("crates").join(name).is_dir()) {
            names.insert(name.to_owned());
        } else {
            names.remove(name);
        }
    }
    names
}

/// The profile folders, such as `target/debug`.
fn find_profiles(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if folder.join(UNITS).is_dir() {
        found.push(folder.to_owned());
    } else if depth > 0 {
        let inner = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in inner.filter(is_folder) {
            find_profiles(&entry.path(), depth - 1, found);
        }
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Links a profile's units; returns their number.
fn link_profile(from: &Path, to: &Path, names: &HashSet<String>) -> io::Result<usize> {
    let mut hashes = HashSet::new();
    for entry in fs::read_dir(from.join(UNITS))?.flatten() {
        let unit = entry.file_name();
        let Some((name, hash)) = unit.to_str().and_then(|unit| unit.rsplit_once('-')) else {
            continue;
        };
        if !names.contains(name) {
            continue;
        }
        for folder in [UNITS, "build"] {
            let from = from.join(folder).join(&unit);
            if from.is_dir() {
                copy_folder(&from, &to.join(folder).join(&unit))?;
            }
        }
        hashes.insert(hash.to_owned());
    }
    let to = to.join("deps");
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(from.join("deps"))?.flatten() {
        let path = entry.path();
        let stem = path.file_stem().and_then(OsStr::to_str);
        let hash = stem
            .and_then(|stem| stem.rsplit_once('-'))
            .map(|(_, hash)| hash);
        if hash.is_some_and(|hash| hashes.contains(hash)) {
            link(&path, &to.join(entry.file_name()))?;
        }
    }
    Ok(hashes.len())
}

/// Copies a folder's files and folders, but no links.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else if kind.is_file() {
            copy(&entry.path(), &to)?;
        }
    }
    Ok(())
}

/// Hard-links a library: rustc replaces libraries and never changes one. Copies other files, and
/// across file systems.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let is_library = |extension: &OsStr| extension == "rlib" || extension == "rmeta";
    if from.extension().is_some_and(is_library) && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy(from, to)
}

/// Copies a file with its time, which tells cargo what is fresh.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A project with a package of its own inside and a dependency in the checkout.
    fn project(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\nmembers = [\"own\"]\n\
             [dependencies]\nshared = {{ path = \"../checkout/crates/shared\" }}\n\
             own = {{ path = \"own\" }}\n"
        );
        write(&folder.join("Cargo.toml"), &manifest);
        write(&folder.join("src/lib.rs"), "pub use shared::shared;\n");
        let own = "[package]\nname = \"own\"\nedition = \"2024\"\n";
        write(&folder.join("own/Cargo.toml"), own);
        let source = folder.join("own/src/lib.rs");
        write(&source, "");
        // Older than anything a project has compiled, as in an unpacked archive.
        let source = File::options().write(true).open(source).unwrap();
        source.set_modified(UNIX_EPOCH).unwrap();
        folder
    }

    /// The packages that cargo compiles for a project.
    #[track_caller]
    fn compiled(project: &Path) -> Vec<String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline"]).current_dir(project);
        cargo
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_TERM_COLOR", "never");
        let output = cargo.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        let lines = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("Compiling "));
        let mut names: Vec<_> = lines
            .map(|line| line.split(' ').next().unwrap().into())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_second_project_compiles_only_its_own_packages() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let checkout = root.join("checkout");
        let list = checkout.join("target/projects");
        let dependencies = |project: &Path| super::dependencies(&list, Some(&checkout), project);
        let shared = checkout.join("crates/shared");
        write(
            &shared.join("Cargo.toml"),
            "[package]\nname = \"shared\"\nedition = \"2024\"\n[workspace]\n",
        );
        write(&shared.join("src/lib.rs"), "pub fn shared() {}\n");
        write(&shared.join("build.rs"), "fn main() {}\n");

        let first = project(root, "first");
        assert_eq!(dependencies(&first), None);
        assert_eq!(compiled(&first), ["first", "own", "shared"]);

        let second = project(root, "second");
        assert_eq!(dependencies(&second), Some(first.clone()));
        // `own` has the same name and the same path inside its workspace.
        assert_eq!(compiled(&second), ["own", "second"]);
        assert_eq!(compiled(&first), [""; 0]);

        // A change in what they share affects both.
        write(&shared.join("src/lib.rs"), "pub fn shared() -> u32 { 1 }\n");
        let third = project(root, "third");
        assert_eq!(dependencies(&third), Some(second));
        assert_eq!(compiled(&third), ["own", "shared", "third"]);
        assert_eq!(compiled(&first), ["first", "shared"]);
    }

    #[test]
    fn a_project_that_is_gone_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let [list, gone, new] = ["lists/one", "gone", "new"].map(|name| root.path().join(name));
        for project in [&gone, &new, &new] {
            assert_eq!(dependencies(&list, None, project), None);
        }
        let list = fs::read_to_string(list).unwrap();
        let expected = format!("{}\n{}\n", gone.display(), new.display());
        assert_eq!(list, expected);
    }
}
