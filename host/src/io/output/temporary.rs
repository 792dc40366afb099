//! Hidden files next to an output while it is written. They are removed when the program ends, also
//! by a signal; after a kill, the next run finds them.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::NamedTempFile;

/// Every temporary file's name starts with this, followed by the process id and `-`.
const PREFIX: &str = ".blockwise-";

/// The files that a signal must remove.
static ALIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The system's own error, without the temporary file's name that was added to it.
fn of_system(error: Error) -> Error {
    let inner = error.get_ref().and_then(|inner| inner.source());
    let code = inner.and_then(|inner| inner.downcast_ref::<Error>()?.raw_os_error());
    code.map_or(error, Error::from_raw_os_error)
}

/// A file next to an output, removed unless it replaces the output.
#[derive(Debug)]
pub(super) struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// A new file in the folder of `path`.
    pub(super) fn beside(path: &Path) -> std::io::Result<Self> {
        remove_on_signals();
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        // The mode of an ordinary new file, so that the user's umask applies. A file that will
        // replace another one is readable by its owner only until it has the other's permissions.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(
            match path.exists() {
                true => 0o600,
                false => 0o666,
            },
        ));
        // Held during the creation: a signal then waits until the file is registered.
        let mut alive = alive();
        let file = builder
            .tempfile_in(folder_of(path))
            .map_err(|error| match error.kind() {
                // Without the temporary file's own name.
                kind @ ErrorKind::NotFound => Error::new(kind, "there is no such folder"),
                kind @ ErrorKind::PermissionDenied => Error::new(kind, "permission denied"),
                _ => of_system(error),
            })?;
        alive.insert(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    /// The open file.
    pub(super) fn file(&mut self) -> std::io::Result<&mut std::fs::File> {
        let file = self.0.as_mut().map(NamedTempFile::as_file_mut);
        file.ok_or_else(|| Error::other("the temporary file is in place already"))
    }

    /// Renames it over `target`, whose permissions it takes over.
    pub(super) fn persist(mut self, target: &Path) -> std::io::Result<()> {
        let mut alive = alive();
        let Some(file) = self.0.take() else {
            return Ok(());
        };
        // A file system without permissions has none to keep.
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
            // If this fails the file stays, and the next run reports it.
            let _ = file.close();
        }
    }
}

/// Files left by killed runs in the folder of `path`.
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

/// The process id in a temporary file's name.
fn process_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Known on Linux only; on other systems nothing is reported.
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

/// Once: starts a thread that waits for the signals that end a program, removes the files, and lets
/// the signal end it.
fn remove_on_signals() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
        use signal_hook::iterator::Signals;

        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            // Exceeding the user's file-size limit (`ulimit -f`) is then a write error, like a full
            // disk.
            let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
            // `nohup` and background jobs of shells ignore some signals: those stay ignored.
            let caught = [SIGHUP, SIGINT, SIGTERM]
                .into_iter()
                .filter(|&signal| !is_ignored(signal));
            let Ok(mut signals) = Signals::new(caught) else {
                return;
            };
            std::thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    // Held until the end: no file is created or finished meanwhile.
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

/// Whether the process was started with this signal ignored, from the mask that Linux shows.
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
        // Above Linux's largest process id.
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
