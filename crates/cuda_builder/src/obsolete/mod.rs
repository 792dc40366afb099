//! Compiles crates that use features removed from the compiler, as rust-cuda's older kernel crates
//! do.
//!
//! Such a crate starts with `#![cfg_attr(target_os = "cuda", feature(register_attr),
//! register_attr(nvvm_internal))]`, which today's compiler rejects first, although nothing needs it
//! here. The compiler gets copies of such files in which those words are blanked, so that lines and
//! columns stay the same. Next to the copy are links to everything next to the original, up to the
//! root of the file system, so that modules and included files are found.

mod source;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{CudaBuilderError, io_error};
use crate::files::replace;
use crate::tools::Toolchain;
use crate::wrapper;
use source::without_obsolete;

/// The copies of one target folder.
pub(crate) struct Copies {
    folder: PathBuf,
}

impl Copies {
    /// The copies' place in a target folder.
    pub(crate) fn of(target_folder: &Path) -> Self {
        Copies {
            folder: wrapper::folder(target_folder).join("copies"),
        }
    }

    /// Copies the libraries' files that use something obsolete, each with its library's root file,
    /// by whose folder the compiler finds modules. Returns whether there are any.
    pub(crate) fn make(
        &self,
        toolchain: &Toolchain,
        libraries: &[PathBuf],
    ) -> Result<bool, CudaBuilderError> {
        let mut needed = false;
        for first in libraries {
            let mut copied = false;
            for original in rust_files_of(first) {
                let Ok(text) = fs::read_to_string(&original) else {
                    continue; // cargo will say what is wrong with it
                };
                let changed = without_obsolete(&text, |features| unknown(toolchain, features));
                copied |= changed.is_some();
                // Also files that an earlier version copied, and the root file of a copied module.
                if changed.is_some() || self.holds(&original) || (copied && original == *first) {
                    self.place(&original, changed.as_ref().unwrap_or(&text))?;
                }
            }
            needed |= copied;
        }
        Ok(needed)
    }

    /// The original's path, if the path is that of a copy or of a link next to one.
    pub(crate) fn original(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.folder).ok()?;
        Some(Path::new("/").join(below))
    }

    /// The folders of a path below this folder's copies, outermost first, each with its original.
    /// Nothing may be written through a link, because it leads to the user's own source: only a
    /// path whose folders are all real is a copy's.
    fn folders_to(&self, original: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut folders: Vec<_> = original
            .ancestors()
            .skip(1)
            .map(|there| {
                let below = there.strip_prefix("/").unwrap_or(there);
                (self.folder.join(below), there.to_owned())
            })
            .collect();
        folders.reverse();
        folders
    }

    /// Whether it is a copy, not a link.
    fn holds(&self, original: &Path) -> bool {
        let folders = self.folders_to(original);
        let (Some((folder, _)), Some(name)) = (folders.last(), original.file_name()) else {
            return false;
        };
        folders
            .iter()
            .all(|(here, _)| is(here, fs::FileType::is_dir))
            && is(&folder.join(name), fs::FileType::is_file)
    }

    /// Writes the copy, and the links next to it and above.
    fn place(&self, original: &Path, text: &str) -> Result<(), CudaBuilderError> {
        fs::create_dir_all(&self.folder).map_err(io_error("create", &self.folder))?;
        let folders = self.folders_to(original);
        for (at, (here, there)) in folders.iter().enumerate() {
            // Its parent is a real folder, created in the preceding iteration.
            if is(here, fs::FileType::is_symlink) {
                ignore(fs::remove_file(here)).map_err(io_error("remove", here))?;
            }
            ignore(fs::create_dir(here)).map_err(io_error("create", here))?;
            let inner = folders.get(at + 1).map_or(original, |(_, inner)| inner);
            // The compiler cannot read anything in an unreadable folder either.
            for entry in fs::read_dir(there).into_iter().flatten().flatten() {
                let link = here.join(entry.file_name());
                if entry.path() != inner && link.symlink_metadata().is_err() {
                    ignore(link_to(&entry.path(), &link)).map_err(io_error("link", link))?;
                }
            }
        }
        let (Some((folder, _)), Some(name)) = (folders.last(), original.file_name()) else {
            return Ok(());
        };
        let copy = folder.join(name);
        if self.holds(original) && fs::read_to_string(&copy).is_ok_and(|old| old == text) {
            return Ok(());
        }
        replace(&copy, text.as_bytes())
    }
}

/// The files that may be a library's modules; its root file last.
fn rust_files_of(first: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<_> = first.parent().map(Path::to_owned).into_iter().collect();
    while let Some(folder) = folders.pop() {
        if folder.join("CACHEDIR.TAG").exists() {
            continue; // a target folder, which may hold copies
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if path.extension() == Some(OsStr::new("rs")) && path != first => {
                    files.push(path);
                }
                _ => {}
            }
        }
    }
    files.push(first.to_owned());
    files
}

/// Tests the path itself, not what it links to.
fn is(path: &Path, kind: impl Fn(&fs::FileType) -> bool) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| kind(&metadata.file_type()))
}

/// Another build may have done it in the meantime.
fn ignore(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn link_to(original: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(original, link)
}

#[cfg(not(unix))]
fn link_to(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Features that every crate of a build gets anyway. Older compilers fail if they are requested
/// twice.
pub(crate) const GIVEN: [&str; 2] = ["abi_ptx", "register_tool"];

/// Which of the features the compiler lacks, as flags in the same order.
fn unknown(toolchain: &Toolchain, features: &[&str]) -> Vec<bool> {
    // One attribute per line: the line number of a message identifies its attribute.
    let mut source = "#![no_std]".to_owned();
    for feature in features {
        source.push_str(&format!("\n#![feature({feature})]"));
    }
    let mut unknown: Vec<_> = features.iter().map(|name| GIVEN.contains(name)).collect();
    // A temporary folder, because the compiler overwrites the output file that it is given.
    let Ok(folder) = tempfile::tempdir() else {
        return unknown;
    };
    let child = Command::new(&toolchain.rustc)
        .args(["--crate-type=rlib", "--emit=metadata", "--out-dir"])
        .arg(folder.path())
        .args(["--error-format=short", "--cap-lints=allow", "-"])
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let output = child.and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(source.as_bytes())?;
        }
        child.wait_with_output()
    });
    let messages = output.map(|output| output.stderr).unwrap_or_default();
    for line in String::from_utf8_lossy(&messages).lines() {
        if !line.contains("error[E0557]") && !line.contains("error[E0635]") {
            continue;
        }
        let number = line.split(':').nth(1).and_then(|text| text.parse().ok());
        if let Some(place) =
            number.and_then(|number: usize| unknown.get_mut(number.checked_sub(2)?))
        {
            *place = true;
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_lies_among_links_and_no_original_is_ever_touched() {
        let folder = tempfile::tempdir().unwrap();
        let package = |name: &str| {
            let source = folder.path().join(name).join("src");
            fs::create_dir_all(source.join("deep")).unwrap();
            for (file, text) in [
                ("lib.rs", "old"),
                ("part.rs", "part"),
                ("deep/er.rs", "deeper"),
                ("../table.txt", "table"),
            ] {
                fs::write(source.join(file), text).unwrap();
            }
            source.join("lib.rs")
        };
        let (first, second) = (package("a package"), package("another"));
        let copies = Copies::of(&folder.path().join("target"));
        let copy_of = |original: &Path| copies.folder.join(original.strip_prefix("/").unwrap());
        copies.place(&first, "new").unwrap();
        // The second is now reached through a link, and is not a copy.
        assert!(copies.holds(&first) && !copies.holds(&second));
        assert_eq!(fs::read_to_string(copy_of(&second)).unwrap(), "old");
        copies.place(&second, "newer").unwrap();
        copies.place(&first, "new").unwrap();

        let beside = copy_of(&first);
        let read = |path: &str| fs::read_to_string(beside.parent().unwrap().join(path)).unwrap();
        assert_eq!(
            [
                "lib.rs",
                "part.rs",
                "deep/er.rs",
                "../table.txt",
                "../../another/src/lib.rs"
            ]
            .map(read),
            ["new", "part", "deeper", "table", "newer"]
        );
        for original in [&first, &second] {
            assert_eq!(fs::read_to_string(original).unwrap(), "old");
            assert_eq!(copies.original(&copy_of(original)).as_ref(), Some(original));
            assert_eq!(copies.original(original), None);
        }
    }
}
