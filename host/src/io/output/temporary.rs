//! Hidden files beside an output while it is written. They go away with the program, also when a signal ends it; what a kill leaves is
//! found by the next run.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::NamedTempFile;

/// Every temporary file starts with this, then the number of the process, then `-`.
const PREFIX: &str = ".blockwise-";

/// The files that a signal must remove.
static ALIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file beside an output, removed unless it takes the output's place.
#[derive(Debug)]
pub(super) struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// A new file in the folder of `path`.
    pub(super) fn beside(path: &Path) -> std::io::Result<Self> {
        remove_on_signals();
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        // What an ordinary new file gets, so that the user's umask decides. One that takes another's
        // place is read by nobody else until it has the other's rights.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(
            match path.exists() {
                true => 0o600,
                false => 0o666,
            },
        ));
        // Held over the creation: a signal then waits until the file is known.
        let mut alive = alive();
        let file = builder
            .tempfile_in(folder_of(path))
            .map_err(|error| match error.kind() {
                // Without the temporary file's own name.
                kind @ ErrorKind::NotFound => Error::new(kind, "there is no such folder"),
                kind @ ErrorKind::PermissionDenied => Error::new(kind, "permission denied"),
                _ => error,
            })?;
        alive.insert(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    /// The open file.
    pub(super) fn file(&mut self) -> std::io::Result<&mut std::fs::File> {
        let file = self.0.as_mut().map(NamedTempFile::as_file_mut);
        file.ok_or_else(|| Error::other("the temporary file is in place already"))
    }

    /// Renames it over `target`, whose rights it takes over.
    pub(super) fn persist(mut self, target: &Path) -> std::io::Result<()> {
        let mut alive = alive();
        let Some(file) = self.0.take() else {
            return Ok(());
        };
        // A file system without rights has none to keep.
        #[cfg(unix)]
        let _ = super::rights::take_over(file.as_file(), target);
        file.as_file().sync_all()?;
        alive.remove(file.path());
        file.persist(target).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let mut alive = alive();
            alive.remove(file.path());
            // Without it the file stays, and the next run says so.
            let _ = file.close();
        }
    }
}

/// What runs that were killed left in the folder of `path`.
pub(super) fn left_behind(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else {
        return Vec::new();
    };
    let mut left: Vec<_> = (entries.flatten())
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(process_of)
                .is_some_and(is_gone)
        })
        .map(|entry| entry.path())
        .collect();
    left.sort();
    left
}

/// The process in a temporary file's name.
fn process_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Known on Linux only; elsewhere nothing is said.
fn is_gone(process: u32) -> bool {
    Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists()
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn alive() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Once: a thread that waits for the signals that end a program, removes the files and lets the signal end it.
fn remove_on_signals() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
        use signal_hook::iterator::Signals;

        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            // A file beyond the user's limit (`ulimit -f`) is an error of the write, as a full disk is.
            let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
            // `nohup` and shells' background jobs ignore some: those stay ignored.
            let caught = [SIGHUP, SIGINT, SIGTERM]
                .into_iter()
                .filter(|&signal| !is_ignored(signal));
            let Ok(mut signals) = Signals::new(caught) else {
                return;
            };
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    // Kept until the end: nobody makes or finishes a file meanwhile.
                    let alive = alive();
                    for file in alive.iter() {
                        let _ = std::fs::remove_file(file);
                    }
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            });
        });
    }
}

/// Whether the process was started with this signal ignored, by the mask that Linux shows.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = (status.lines())
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_run_is_recognised_by_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.npy");
        let own = Temporary::beside(&output).unwrap();
        // Above the largest number that Linux gives.
        let dead = folder.path().join(".blockwise-4194305-abc");
        std::fs::write(&dead, "").unwrap();
        std::fs::write(folder.path().join(".blockwise-notes"), "").unwrap();
        if Path::new("/proc/self").exists() {
            assert_eq!(left_behind(&output), [dead]);
        }
        drop(own);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
