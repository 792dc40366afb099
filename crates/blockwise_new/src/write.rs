//! Files that appear together or not at all: a full disk leaves everything as it was.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Error;

/// Files that are written completely, and not yet under their names.
pub(crate) struct Changes {
    /// A folder that does not exist yet, and the one that is renamed to it.
    folder: Option<(PathBuf, PathBuf)>,
    /// Files by the names that they have until the end, and by their own.
    files: Vec<(PathBuf, PathBuf)>,
    /// Folders that were made for them, outer ones first.
    made: Vec<PathBuf>,
}

impl Changes {
    /// Changes in folders that exist.
    pub(crate) fn new() -> Self {
        Self {
            folder: None,
            files: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Changes most of which are in `folder`. If it is a new one it appears at once.
    pub(crate) fn of(folder: &Path) -> Result<Self, Error> {
        let mut changes = Self::new();
        if !folder.exists() {
            let unfinished = beside(folder);
            changes.make_folders(&unfinished)?;
            changes.folder = Some((folder.to_owned(), unfinished));
        }
        Ok(changes)
    }

    /// Adds a file that does not exist yet.
    pub(crate) fn create(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        if path.symlink_metadata().is_ok() {
            return Err(Error::new(format!("{} is there already", path.display())));
        }
        let file = match &self.folder {
            Some((folder, unfinished)) if path.starts_with(folder) => {
                let inner = path.strip_prefix(folder).unwrap_or(path);
                unfinished.join(inner)
            }
            _ => beside(path),
        };
        if let Some(parent) = file.parent() {
            self.make_folders(parent)?;
        }
        self.write(&file, path, text)
    }

    /// Gives a file other contents.
    pub(crate) fn replace(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        let cannot_read = |error| Error::io("cannot read", path, error);
        // A link stays one.
        let path = &fs::canonicalize(path).map_err(cannot_read)?;
        let old = fs::read_to_string(path).map_err(cannot_read)?;
        let file = beside(path);
        self.write(&file, path, &as_before(&old, text.to_owned()))?;
        fs::metadata(path)
            .and_then(|old| fs::set_permissions(&file, old.permissions()))
            .map_err(|error| Error::io("cannot write", path, error))
    }

    fn write(&mut self, file: &Path, path: &Path, text: &str) -> Result<(), Error> {
        self.files.push((file.to_owned(), path.to_owned()));
        let write = || -> std::io::Result<()> {
            let mut file = File::create_new(file)?;
            file.write_all(text.as_bytes())?;
            // Some systems find room only now, and say so.
            file.sync_all()
        };
        write().map_err(|error| Error::io("cannot write", path, error))
    }

    /// Makes a folder with those around it.
    fn make_folders(&mut self, folder: &Path) -> Result<(), Error> {
        let missing: Vec<_> = folder.ancestors().take_while(|it| !it.exists()).collect();
        for folder in missing.into_iter().rev() {
            if folder.as_os_str().is_empty() {
                continue;
            }
            fs::create_dir(folder).map_err(|error| Error::io("cannot make", folder, error))?;
            self.made.push(folder.to_owned());
        }
        Ok(())
    }

    /// Gives everything its name: from here on nothing needs room on the disk.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        if let Some((folder, unfinished)) = &self.folder {
            fs::rename(unfinished, folder)
                .map_err(|error| Error::io("cannot make", folder, error))?;
            self.files.retain(|(file, _)| !file.starts_with(unfinished));
        }
        while let Some((file, path)) = self.files.first() {
            fs::rename(file, path).map_err(|error| Error::io("cannot write", path, error))?;
            self.files.remove(0);
        }
        self.made.clear();
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        // A file that cannot be removed stays under its temporary name.
        for (file, _) in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The text with what a parser of manifests forgets: Windows' line ends, that the last line has none,
/// and the mark at the start.
pub(crate) fn as_before(old: &str, mut text: String) -> String {
    let of_windows = old.matches("\r\n").count();
    if of_windows > 0 && of_windows == old.matches('\n').count() {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if !old.is_empty() && !old.ends_with('\n') {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    let mark = '\u{feff}';
    if old.starts_with(mark) && !text.starts_with(mark) {
        text.insert(0, mark);
    }
    text
}

/// An unused name in the folder of a file or folder.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.unfinished", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_fails_half_way_leaves_everything_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::write(root.join("kept"), "old").unwrap();
        let folder = root.join("deep/new");
        for existing in [false, true] {
            if existing {
                fs::create_dir_all(&folder).unwrap();
            }
            let before = names(root);
            let fail = || {
                let mut changes = Changes::of(&folder)?;
                changes.create(&folder.join("src/lib.rs"), "text")?;
                changes.replace(&root.join("kept"), "new")?;
                // No folder can be made in a file, as none can on a full disk.
                changes.create(&root.join("kept/file"), "text")?;
                changes.finish()
            };
            let error = fail().unwrap_err();
            assert!(error.to_string().contains("kept"), "{error}");
            assert_eq!(names(root), before);
            assert_eq!(fs::read_to_string(root.join("kept")).unwrap(), "old");
            if existing {
                assert_eq!(names(&folder), [""; 0]);
            }
        }
    }

    #[test]
    fn a_changed_file_keeps_its_line_ends_and_its_mark() {
        for (old, new, expected) in [
            ("a\r\nb\r\n", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\r\nb", "a\r\nb\nc\n", "a\r\nb\r\nc"),
            ("a\nb\r\n", "a\nc\r\n", "a\nc\r\n"),
            ("a\nb\n", "a\nc\n", "a\nc\n"),
            ("", "a\n", "a\n"),
            ("a", "a\nb\n", "a\nb"),
            ("\u{feff}a\r\n", "a\nb\n", "\u{feff}a\r\nb\r\n"),
        ] {
            let root = tempfile::tempdir().unwrap();
            let file = root.path().join("Cargo.toml");
            fs::write(&file, old).unwrap();
            let mut changes = Changes::new();
            changes.replace(&file, new).unwrap();
            changes.finish().unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), expected, "{old:?}");
        }
    }

    #[test]
    fn nothing_has_its_name_before_the_end_and_nothing_else_is_left() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::write(root.join("changed"), "old").unwrap();
        for folder in ["deep/new", "empty"].map(|name| root.join(name)) {
            let is_there = folder.ends_with("empty");
            if is_there {
                fs::create_dir(&folder).unwrap();
            }
            let mut changes = Changes::of(&folder).unwrap();
            for file in ["a", "src/b"] {
                changes.create(&folder.join(file), file).unwrap();
            }
            changes.replace(&root.join("changed"), "new").unwrap();
            assert!(!folder.join("a").exists() && folder.exists() == is_there);
            assert!(changes.create(&root.join("changed"), "").is_err());
            changes.finish().unwrap();
            assert_eq!(names(&folder), ["a", "src"]);
            assert_eq!(names(&folder.join("src")), ["b"]);
        }
        assert_eq!(names(root), ["changed", "deep", "empty"]);
        assert_eq!(names(&root.join("deep")), ["new"]);
        assert_eq!(fs::read_to_string(root.join("changed")).unwrap(), "new");
    }
}
