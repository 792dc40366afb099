//! Outputs. A file appears whole or not at all; a pipe or device is written to as it is.

mod destination;
#[cfg(target_os = "linux")]
mod mapped;
#[cfg(unix)]
mod rights;
mod room;
mod temporary;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Error, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::FileError;
use destination::Destination;
pub(super) use destination::is_descriptor;
use room::Room;
use temporary::Temporary;

/// Whether an output has claimed standard output.
static STANDARD_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether an output goes to standard output. Reports then go to standard error.
pub fn standard_output_is_taken() -> bool {
    STANDARD_IS_TAKEN.load(Ordering::Relaxed)
}

/// Whether notes are suppressed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes on an output's leftover temporary files and hard links.
pub fn without_notes() {
    QUIET.store(true, Ordering::Relaxed);
}

fn note(text: std::fmt::Arguments<'_>) {
    if !QUIET.load(Ordering::Relaxed) {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "note: {text}");
    }
}

/// The destination of an output. It is checked before the computation starts, so that a folder
/// that cannot be written fails at once.
///
/// Nothing stays in the folder before [`write`](Self::write): an interrupted computation leaves no
/// file.
#[derive(Debug)]
pub struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    /// With links resolved: the file that a link names is replaced, and the link stays.
    destination: Destination,
    /// Keeps other outputs off the same file.
    _claim: Option<Claim>,
}

/// The files that this process's outputs will replace.
static CLAIMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// An entry of [`CLAIMED`], removed on drop.
#[derive(Debug)]
struct Claim(PathBuf);

impl Claim {
    /// Fails if another output has claimed the file.
    fn of(target: &Path) -> io::Result<Self> {
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
        let target = folder.join(target.file_name().unwrap_or_default());
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        match claimed.insert(target.clone()) {
            true => Ok(Self(target)),
            false => Err(Error::other("another output goes there already")),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.remove(&self.0);
    }
}

impl OutputFile {
    /// Checks the destination and claims it. `-` is standard output.
    ///
    /// # Errors
    /// When the destination is a folder or a read-only file, its folder does not exist or cannot be
    /// written, or another output has claimed it.
    pub fn prepare(path: &Path) -> Result<Self, FileError> {
        if path.is_dir() {
            return Err(FileError::IsFolder {
                path: path.to_owned(),
            });
        }
        let refused = |source| FileError::Write {
            path: path.to_owned(),
            source,
        };
        let destination = Destination::of(path).map_err(refused)?;
        let mut claim = None;
        match &destination {
            Destination::File(target) => {
                // Renaming over a read-only file would succeed in a writable folder.
                if target.exists() {
                    let file = std::fs::OpenOptions::new().write(true).open(target);
                    file.map_err(refused)?;
                }
                Temporary::beside(target).map_err(refused)?;
                claim = Some(Claim::of(target).map_err(refused)?);
                for file in temporary::left_behind(target) {
                    note(format_args!(
                        "{} is what a run that was killed left; it can be deleted",
                        file.display()
                    ));
                }
                #[cfg(unix)]
                if let Some(names) = rights::names(target) {
                    note(format_args!(
                        "{} is one of {names} names of a file (hard links): the others keep its old contents",
                        path.display()
                    ));
                }
            }
            Destination::Stream(_) => {}
            Destination::Standard => {
                if STANDARD_IS_TAKEN.swap(true, Ordering::Relaxed) {
                    return Err(refused(Error::other(
                        "standard output is another output's already",
                    )));
                }
            }
        }
        Ok(OutputFile {
            path: path.to_owned(),
            destination,
            _claim: claim,
        })
    }

    /// Puts the contents in place, whole.
    ///
    /// # Errors
    /// The system's error; an existing file is then unchanged.
    pub fn write(self, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = self.create()?;
        (file.write_all(bytes)).map_err(|error| file.refused(error))?;
        file.finish()
    }

    /// Puts intermediate contents into a file. A stream gets the final contents only, so this does
    /// nothing for it.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_so_far(&self, bytes: &[u8]) -> Result<(), FileError> {
        let Destination::File(target) = &self.destination else {
            return Ok(());
        };
        let written = Temporary::beside(target).and_then(|mut file| {
            file.file()?.write_all(bytes)?;
            file.persist(target)
        });
        written.map_err(|source| FileError::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Whether it is a pipe, a device or standard output.
    pub fn is_stream(&self) -> bool {
        !matches!(self.destination, Destination::File(_))
    }

    /// Opens a temporary file for the contents.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn create(self) -> Result<Unfinished, FileError> {
        let contents = match &self.destination {
            Destination::File(target) => Temporary::beside(target).map(Contents::Named),
            // Some formats are written with seeks back to their headers, which a pipe cannot do.
            Destination::Stream(_) | Destination::Standard => {
                tempfile::tempfile().map(Contents::Unnamed)
            }
        };
        match contents {
            Ok(contents) => Ok(Unfinished {
                place: self,
                contents,
                room: Room::default(),
            }),
            Err(source) => Err(FileError::Write {
                path: self.path,
                source,
            }),
        }
    }
}

/// An output being written, to a temporary file that is deleted unless [`finish`](Self::finish) is
/// called.
#[derive(Debug)]
pub(super) struct Unfinished {
    place: OutputFile,
    contents: Contents,
    /// Space for the whole contents, if their length is known.
    room: Room,
}

#[derive(Debug)]
enum Contents {
    /// A file next to the one that it will replace.
    Named(Temporary),
    /// A file without a name, to be copied into a stream.
    Unnamed(File),
}

impl Unfinished {
    /// Starts to allocate `len` bytes for the contents. The file has that length from then on.
    pub(super) fn reserve(&mut self, len: u64) -> io::Result<()> {
        self.room = Room::begin(self.file()?, len)?;
        Ok(())
    }

    /// Puts the contents in place.
    pub(super) fn finish(self) -> Result<(), FileError> {
        let Self {
            place,
            contents,
            mut room,
        } = self;
        let put = |()| match (&place.destination, contents) {
            (Destination::File(target), Contents::Named(file)) => file.persist(target),
            (Destination::Stream(path), Contents::Unnamed(file)) => copy(file, Some(path)),
            (_, Contents::Unnamed(file)) => copy(file, None),
            (_, Contents::Named(_)) => Err(Error::other("a stream is not replaced")),
        };
        let moved = room.wait().and_then(put);
        moved.map_err(|source| FileError::Write {
            path: place.path,
            source,
        })
    }

    /// The destination as the user named it.
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The system's error with the destination's name.
    pub(super) fn refused(&self, source: Error) -> FileError {
        FileError::Write {
            path: self.place.path.clone(),
            source,
        }
    }

    pub(super) fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.contents {
            Contents::Named(file) => file.file(),
            Contents::Unnamed(file) => Ok(file),
        }
    }
}

/// Writes the file into the stream at `path`, or into standard output.
fn copy(mut file: File, path: Option<&Path>) -> io::Result<()> {
    file.rewind()?;
    let mut stream = Destination::open_stream(path)?;
    match io::copy(&mut file, &mut stream).and_then(|_| stream.flush()) {
        // A reader that closes the pipe (`| head`) is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        copied => copied,
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room.wait()?;
        #[cfg(target_os = "linux")]
        if mapped::is_worth_it(bytes.len()) && self.room.in_memory > 0 {
            let in_memory = self.room.in_memory;
            let file = self.file()?;
            let (at, len) = (file.stream_position()?, bytes.len() as u64);
            if at.checked_add(len).is_some_and(|end| end <= in_memory) {
                mapped::write(file, at, bytes)?;
                file.seek(SeekFrom::Start(at + len))?;
                return Ok(bytes.len());
            }
        }
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl Seek for Unfinished {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file()?.seek(to)
    }
}

/// Puts buffered contents in place.
pub(super) fn finish(file: BufWriter<Unfinished>) -> Result<(), FileError> {
    match file.into_inner() {
        Ok(file) => file.finish(),
        Err(error) => {
            let (error, file) = error.into_parts();
            Err(file.get_ref().refused(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_appears_before_the_write_and_nothing_is_left_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        let output = OutputFile::prepare(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        output.write(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        OutputFile::prepare(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_any_new_file_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
        fs::write(at("ordinary"), "").unwrap();
        OutputFile::prepare(&at("out"))
            .unwrap()
            .write(b"x")
            .unwrap();
        assert_eq!(mode("out"), mode("ordinary"));
        symlink(at("out"), at("link")).unwrap();
        OutputFile::prepare(&at("link"))
            .unwrap()
            .write(b"y")
            .unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read(at("out")).unwrap(), b"y");
    }

    /// A replacement takes over the old file's permissions, and is private until then.
    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_rights() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        fs::write(&path, "old").unwrap();
        symlink("out.npy", folder.path().join("link.npy")).unwrap();
        let is_root = fs::metadata(&path).unwrap().uid() == 0;
        for mode in [0o600, 0o640, 0o604, 0o644, 0o666, 0o755, 0o200, 0o4600] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            for name in ["out.npy", "link.npy"] {
                let output = OutputFile::prepare(&folder.path().join(name)).unwrap();
                output.write_so_far(b"so far").unwrap();
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode & 0o777);
                let mut file = output.create().unwrap();
                file.write_all(b"whole").unwrap();
                let temporary = (fs::read_dir(folder.path()).unwrap().flatten()).find(|entry| {
                    entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(".blockwise")
                });
                let temporary = temporary.unwrap().metadata().unwrap();
                assert_eq!(temporary.mode() & 0o077, 0, "{mode:04o}");
                file.finish().unwrap();
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode & 0o777);
            }
        }
        if is_root {
            std::os::unix::fs::chown(&path, Some(65_534), Some(65_533)).unwrap();
            OutputFile::prepare(&path).unwrap().write(b"x").unwrap();
            let about = fs::metadata(&path).unwrap();
            assert_eq!((about.uid(), about.gid()), (65_534, 65_533));
        } else {
            println!("skipped: only root can give a file away");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_replaced_file_keeps_its_attributes() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // A POSIX ACL: version 2, then entries of tag, permissions and user. User 65534 may read.
        let entry = |tag: u16, rights: u16, user: u32| {
            [
                &tag.to_le_bytes()[..],
                &rights.to_le_bytes(),
                &user.to_le_bytes(),
            ]
            .concat()
        };
        let none = u32::MAX;
        let list = [
            2_u32.to_le_bytes().to_vec(),
            entry(1, 6, none),
            entry(2, 4, 65_534),
            entry(4, 0, none),
            entry(16, 4, none),
            entry(32, 0, none),
        ]
        .concat();
        for (name, value) in [
            ("user.comment", &b"mine"[..]),
            ("system.posix_acl_access", &list),
        ] {
            if setxattr(&path, name, value, XattrFlags::empty()).is_err() {
                println!("skipped: this file system has no {name}");
                continue;
            }
            let mode = fs::metadata(&path).unwrap().mode();
            OutputFile::prepare(&path).unwrap().write(b"new").unwrap();
            let mut kept = [0; 100];
            let len = getxattr(&path, name, &mut kept[..]).unwrap();
            assert_eq!(&kept[..len], value, "{name}");
            assert_eq!(fs::metadata(&path).unwrap().mode(), mode, "{name}");
        }
    }

    #[test]
    fn two_outputs_do_not_take_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        let first = OutputFile::prepare(&path).unwrap();
        let again = folder.path().join("./out.npy");
        let error = OutputFile::prepare(&again).unwrap_err().to_string();
        assert!(
            error.ends_with("another output goes there already"),
            "{error}"
        );
        first.write(b"x").unwrap();
        OutputFile::prepare(&again).unwrap();
    }

    #[test]
    fn places_that_cannot_be_written_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let error = OutputFile::prepare(folder.path()).unwrap_err();
        assert!(matches!(error, FileError::IsFolder { .. }));
        let error = OutputFile::prepare(&folder.path().join("no/such/out.npy")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write"), "{error}");
    }
}
