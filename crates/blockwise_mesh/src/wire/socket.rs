//! Sockets of this machine, in a folder that only this user can enter. Both ends also check the
//! other's user: somebody else may have created the folder first.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::stream::{Listener, Stream};
use super::unix::{SocketPath, is_own};

/// Where rank 0 of a job listens. `folder` is for temporary files.
pub(super) fn path(folder: &Path, key: &str) -> io::Result<PathBuf> {
    Ok(private(folder)?.join(format!("mesh-{key}")))
}

/// Where another rank listens, by a number that it has drawn: two processes may claim the same
/// rank until rank 0 rejects one, and need separate paths until then.
pub(super) fn path_of(folder: &Path, key: &str, rank: usize, number: u16) -> io::Result<PathBuf> {
    Ok(private(folder)?.join(format!("mesh-{key}-{rank}-{number}")))
}

/// This user's folder there: created, or checked if it exists.
fn private(folder: &Path) -> io::Result<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let path = folder.join(format!("blockwise-{own}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let what = format!("{}: {error}", path.display());
            return Err(io::Error::new(error.kind(), what));
        }
        _ => {}
    }
    // Does not follow a link, which may lead anywhere.
    let about = fs::symlink_metadata(&path)?;
    let problem = if !about.is_dir() {
        "it is no folder".to_owned()
    } else if about.uid() != own {
        format!("it belongs to user {}, this is user {own}", about.uid())
    } else if about.mode() & 0o077 != 0 {
        let mode = about.mode() & 0o777;
        format!("its mode is {mode:04o}, and sockets are kept where nobody else comes: 0700")
    } else {
        return Ok(path);
    };
    Err(io::Error::other(format!(
        "{}: {problem}; remove it, or let TMPDIR name a folder of your own",
        path.display()
    )))
}

/// Listens at a path. `number` takes the place of a port.
pub(super) fn listen(path: &Path, number: u16) -> io::Result<Listener> {
    match UnixStream::connect(path) {
        Ok(_) => {
            return Err(io::Error::new(
                ErrorKind::AddrInUse,
                "another job meets there",
            ));
        }
        // Left by a process that was killed.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(Listener::Unix {
        listener,
        number,
        _path: SocketPath(path.to_owned()),
    })
}

/// Connects to a process of this user.
pub(super) fn connect(path: &Path) -> io::Result<Stream> {
    let stream = UnixStream::connect(path)?;
    match is_own(&stream)? {
        true => Stream::of_unix(stream),
        false => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "what listens there is another user's",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_that_others_made_or_can_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = private(folder.path()).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private(folder.path()).unwrap(), own);
        let refused = |why: &str| {
            let error = private(folder.path()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(error.contains("TMPDIR"), "{error}");
        };
        for mode in [0o755, 0o701, 0o770] {
            fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
            refused(&format!("its mode is {mode:04o}"));
        }
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&own, Some(65_534), None).unwrap();
            refused("it belongs to user 65534, this is user 0");
        } else {
            println!("skipped: only root can give a folder to somebody else");
        }
        fs::remove_dir(&own).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        DirBuilder::new().mode(0o700).create(&elsewhere).unwrap();
        symlink(&elsewhere, &own).unwrap();
        refused("it is no folder");
        fs::remove_file(&own).unwrap();
        fs::write(&own, "").unwrap();
        refused("it is no folder");
    }

    #[test]
    fn what_a_killed_process_left_is_replaced_and_what_listens_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "key").unwrap();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = listen(&path, 0).unwrap();
        let error = listen(&path, 0).err().expect("it is taken").to_string();
        assert_eq!(error, "another job meets there");
        connect(&path).unwrap();
        drop(listener);
        assert!(!path.exists());
    }
}
