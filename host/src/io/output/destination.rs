//! The kinds of output destination: a file to replace, a stream to write to, or standard output.

use std::fs::{self, OpenOptions};
use std::io::{self, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::super::is_standard;

/// The links that a path may lead through, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where the bytes of an output go.
#[derive(Debug)]
pub(super) enum Destination {
    /// A regular file, or nothing yet: a new file takes its place.
    File(PathBuf),
    /// A pipe, a device or a socket: written into as it is, never replaced.
    Stream(PathBuf),
    /// Standard output.
    Standard,
}

impl Destination {
    /// Examines the path without opening anything: opening a pipe without a reader would block.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        const STANDARD: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if is_standard(path, STANDARD) {
            return Ok(Self::Standard);
        }
        if is_descriptor(path) {
            return Ok(Self::Stream(path.to_owned()));
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Self::File(fs::canonicalize(path)?)),
            Ok(_) => Ok(Self::Stream(path.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => end_of_links(path).map(Self::File),
            Err(error) => Err(error),
        }
    }

    /// Opens a stream for writing.
    pub(super) fn open_stream(path: Option<&Path>) -> io::Result<Box<dyn Write>> {
        Ok(match path {
            // A descriptor may be a file that others write to: append, so that their bytes stay.
            Some(path) => Box::new(OpenOptions::new().append(true).open(path)?),
            None => Box::new(io::stdout().lock()),
        })
    }
}

/// Whether a path, such as `/dev/stderr`, leads to a descriptor of this process, which another
/// program has opened.
pub(in crate::io) fn is_descriptor(path: &Path) -> bool {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        if target.starts_with("/dev/fd") || target.starts_with("/proc") {
            return true;
        }
        let Ok(link) = fs::read_link(&target) else {
            return false;
        };
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    false
}

/// The path that a chain of links, the last one dangling, leads to.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let link = fs::read_link(&target)?;
                // `join` of an absolute path is that path.
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    Err(Error::other("the link leads through too many others"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_replaced_and_everything_else_is_written_into() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(folder.path()).unwrap().join(name);
        fs::write(at("file"), "").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let replaced = |name: &str| match Destination::of(&at(name)) {
            Ok(Destination::File(path)) => path,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(replaced("new"), at("new"));
        assert_eq!(replaced("link"), at("file"));
        assert_eq!(replaced("dangling"), at("nothing"));
        assert!(Destination::of(&at("loop")).is_err());
        // Also where standard error is a file.
        symlink("/dev/stderr", at("to a descriptor")).unwrap();
        let linked = at("to a descriptor");
        for stream in ["/dev/null", "/dev/fd/2", "/dev/stderr"].map(Path::new) {
            let destination = Destination::of(stream).unwrap();
            assert!(matches!(destination, Destination::Stream(_)), "{stream:?}");
        }
        let destination = Destination::of(&linked).unwrap();
        assert!(matches!(destination, Destination::Stream(_)));
        for standard in ["-", "/dev/stdout"] {
            let destination = Destination::of(Path::new(standard)).unwrap();
            assert!(matches!(destination, Destination::Standard), "{standard}");
        }
    }
}
