//! The machine to search: its variables, programs and root folder.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What discovery queries. Unit tests implement it for an artificial machine in a temporary folder.
pub(crate) trait Machine {
    /// An environment variable; an empty one counts as unset.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// The user's home folder.
    fn home(&self) -> Option<PathBuf>;

    /// The folder that contains `usr/bin`.
    fn root(&self) -> PathBuf;

    /// Runs a program and returns its standard output.
    ///
    /// # Errors
    /// If it cannot be started, or fails; then with its standard error.
    fn output(&self, program: &Path, arguments: &[&str]) -> io::Result<String>;
}

/// The machine this program runs on.
pub(crate) struct Host;

impl Machine for Host {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        std::env::home_dir().filter(|home| home.is_absolute())
    }

    fn root(&self) -> PathBuf {
        PathBuf::from("/")
    }

    fn output(&self, program: &Path, arguments: &[&str]) -> io::Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            // Searching for tools must never start a download.
            .env("RUSTUP_AUTO_INSTALL", "0")
            .output()?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!(
                "{}: {}",
                output.status,
                message.trim()
            )))
        }
    }
}

/// `name` as this system spells an executable.
pub(crate) fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}
