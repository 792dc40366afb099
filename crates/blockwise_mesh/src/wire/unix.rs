//! A socket of this machine: its path, and the user of its other end.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::{fs, io};

/// A socket's path, removed on drop.
#[derive(Debug)]
pub(super) struct SocketPath(pub(super) PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        // If this fails, the file does no harm: the next job replaces it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether the other end is a process of the user who runs this one.
pub(super) fn is_own(stream: &UnixStream) -> io::Result<bool> {
    let other = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(other.uid == rustix::process::geteuid())
}
