//! Disk space for an output, allocated before the contents exist.

use std::fs::File;
use std::io;
use std::thread::{Builder, JoinHandle};

/// Space being allocated by a thread.
///
/// A file in memory (tmpfs) gets its pages while the device starts, and writing only copies into
/// them. A disk that is too small is found before anything is computed.
#[derive(Debug, Default)]
pub(super) struct Room {
    thread: Option<JoinHandle<io::Result<u64>>>,
    /// The first bytes of the file that are pages in memory, and stay it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(super) in_memory: u64,
}

impl Room {
    /// Starts to allocate the file's first `len` bytes.
    pub(super) fn begin(file: &File, len: u64) -> io::Result<Self> {
        let file = file.try_clone()?;
        let thread = Builder::new().spawn(move || take(&file, len));
        Ok(Self {
            // If no thread can be started, the writes allocate the space.
            thread: thread.ok(),
            in_memory: 0,
        })
    }

    /// Waits for the allocation. Reports a full disk once.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(taken)) => self.in_memory = taken?,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {}
        }
        Ok(())
    }
}

/// How much of it is then in memory.
#[cfg(target_os = "linux")]
fn take(file: &File, len: u64) -> io::Result<u64> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::{Errno, retry_on_intr};

    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, len)) {
        Ok(()) if super::mapped::is_in_memory(file) => Ok(len),
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        // Some file systems cannot allocate; the writes report any other error.
        _ => Ok(0),
    }
}

#[cfg(not(target_os = "linux"))]
fn take(_: &File, _: u64) -> io::Result<u64> {
    Ok(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn room_is_taken_and_a_disk_that_is_too_small_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        let mut room = Room::begin(&file, 1 << 20).unwrap();
        room.wait().unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() * 512 >= 1 << 20, "{metadata:?}");
        let mut room = Room::begin(&file, i64::MAX as u64).unwrap();
        room.wait().unwrap_err();
        room.wait().unwrap();
    }
}
