//! The kernels of a user's project: cargo builds them, and leaves their PTX below `target`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::failure::Failure;

/// What a build script's `embed()` reads.
pub(super) const DEBUG_INFO: &str = "BLOCKWISE_DEBUG_INFO";

/// Waits until no other command builds the project in a folder, or reads what it has built: builds
/// with and without debug information leave their PTX in the same place. The project is locked by
/// its manifest until this is dropped. Windows would keep cargo from reading the manifest.
pub(super) fn alone(folder: &Path) -> Option<File> {
    let manifest = File::open(folder.join("Cargo.toml")).ok()?;
    // Some file systems have no locks.
    let locked = cfg!(unix) && manifest.lock().is_ok();
    locked.then_some(manifest)
}

/// Runs `cargo build` in a folder.
pub(super) fn build(folder: &Path, debug_info: Option<&str>) -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet"])
        .current_dir(folder)
        .envs(debug_info.map(|value| (DEBUG_INFO, value)))
        // Standard input and output are those of a debugger's client.
        .stdin(Stdio::null());
    let place = folder.display();
    let output = command.output();
    let output = output.map_err(|error| Failure::new(format!("{place}: cargo: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    Err(Failure::new(format!(
        "{place}: `cargo build` failed:\n{text}"
    )))
}

/// The newest PTX that cargo built for a package in a folder, with that kernel; the package's own
/// before that of others.
pub(super) fn ptx(folder: &Path, kernel: Option<&str>) -> Result<PathBuf, Failure> {
    let entry = kernel.map(|kernel| format!(".entry {kernel}("));
    let own = package(folder);
    let mut newest: Option<((bool, SystemTime), PathBuf)> = None;
    // A member of a workspace is built into the workspace's folder.
    let above = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let above = above.ancestors().map(|folder| folder.join("target"));
    let set = std::env::var_os("CARGO_TARGET_DIR").map(|set| folder.join(set));
    for target in set.into_iter().chain(above) {
        for file in outputs(&target) {
            let is_ptx = file.extension().is_some_and(|extension| extension == "ptx");
            // Opening a pipe would wait for whoever writes it.
            let about = fs::metadata(&file).ok();
            let about = about.filter(|about| is_ptx && about.is_file());
            let Some(time) = about.and_then(|about| about.modified().ok()) else {
                continue;
            };
            let is_own = own.is_some() && file.file_stem() == own.as_deref().map(AsRef::as_ref);
            let rank = (is_own, time);
            if newest.as_ref().is_some_and(|(known, _)| *known >= rank) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap_or_default();
            if entry.as_ref().is_none_or(|entry| text.contains(entry)) {
                newest = Some((rank, file));
            }
        }
        if newest.is_some() {
            break;
        }
    }
    let missing = || {
        if !folder.is_dir() {
            return Failure::new(format!("{}: there is no such folder", folder.display()));
        }
        let what = kernel.map_or_else(
            || "PTX".to_owned(),
            |kernel| format!("PTX with a kernel `{kernel}`"),
        );
        let message = format!(
            "{}: cargo has built no {what} below `target`",
            folder.display()
        );
        Failure::new(message).hint(
            "a build script with `cuda_builder::embed` leaves it there; else name the PTX file",
        )
    };
    newest.map(|(_, file)| file).ok_or_else(missing)
}

/// The name of the package in a folder, by which `cuda_builder` calls its PTX.
fn package(folder: &Path) -> Option<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let lines = manifest.lines().map(str::trim);
    let mut lines = lines.skip_while(|line| *line != "[package]").skip(1);
    let name = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("name")?.trim_start().strip_prefix('='))?;
    Some(name.trim().trim_matches('"').to_owned())
}

/// The files that builds of device code leave in a target folder: those of `cuda_builder`, and what
/// a build script copies to its own output folder.
fn outputs(target: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for arch in files(&target.join("cuda-builder")) {
        all.extend(files(&arch.join("ptx")));
    }
    for profile in files(target) {
        for package in files(&profile.join("build")) {
            all.extend(files(&package.join("out")));
            // Newer cargos have a folder for each build of a package.
            for build in files(&package) {
                all.extend(files(&build.join("out")));
            }
        }
    }
    all
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_said_to_be_missing() {
        let missing = ptx(Path::new("/no/such/folder"), Some("k")).unwrap_err();
        let text = missing.to_string();
        assert_eq!(text, "/no/such/folder: there is no such folder");
    }
}
