//! What the build script of cust looks for: a CUDA toolkit.
//!
//! None is needed, since the driver is loaded by the program. A checkout and a repository have a
//! package in the script's place (`find_cuda_helper`), which a manifest must name in `[patch]`. A
//! registry has none by that name. There the script is shown a folder, which holds an empty library,
//! by the variable that it reads first.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use crate::Error;
use crate::write::Changes;

/// The folder, in that of the workspace.
const FOLDER: &str = ".cargo/no-cuda-toolkit";

/// A library without members, for linkers: nothing is linked from it.
const LIBRARY: (&str, &str) = (".cargo/no-cuda-toolkit/lib64/libcuda.a", "!<arch>\n");

/// The settings of cargo that name the folder. Where there is one of the older name, cargo reads that
/// one and passes over the other.
const SETTINGS: &str = ".cargo/config.toml";
const OLDER_SETTINGS: &str = ".cargo/config";
const VARIABLE: &str = "CUDA_LIBRARY_PATH";
const REASON: &str = "# The build script of cust looks for a CUDA toolkit here. None is needed.\n";

/// A file to write.
#[derive(Debug, PartialEq)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Whether it is there, with other contents.
    pub(crate) is_there: bool,
}

/// Makes such a folder for `cargo install` of a program that uses GPUs: there, cargo reads no
/// project's settings. Returns the folder.
///
/// # Errors
/// The system's, if it cannot be made.
pub fn no_toolkit(inside: &Path) -> std::io::Result<PathBuf> {
    let folder = inside.join("no-cuda-toolkit");
    fs::create_dir_all(folder.join("lib64"))?;
    fs::write(folder.join("lib64/libcuda.a"), LIBRARY.1)?;
    Ok(folder)
}

impl File {
    pub(crate) fn write(&self, changes: &mut Changes) -> Result<(), Error> {
        match self.is_there {
            true => changes.replace(&self.path, &self.text),
            false => changes.create(&self.path, &self.text),
        }
    }
}

/// The files that are missing or lack something, for the workspace in this folder.
pub(crate) fn files(root: &Path) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    let (library, text) = LIBRARY;
    let path = root.join(library);
    if !path.exists() {
        files.push(File {
            path,
            text: text.to_owned(),
            is_there: false,
        });
    }
    let older = root.join(OLDER_SETTINGS);
    let path = match older.is_file() {
        true => older,
        false => root.join(SETTINGS),
    };
    let old = match fs::read_to_string(&path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io("cannot read", &path, error)),
    };
    let new = with_variable(old.as_deref().unwrap_or_default())
        .map_err(|problem| Error::new(format!("{}: {problem}", path.display())))?;
    files.extend(new.map(|text| File {
        path,
        text,
        is_there: old.is_some(),
    }));
    Ok(files)
}

/// The settings with the variable; `None` if they have it.
fn with_variable(text: &str) -> Result<Option<String>, String> {
    let mut settings: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let variables = settings.entry("env").or_insert(Item::Table(Table::new()));
    let variables = variables.as_table_like_mut().ok_or("`env` is no table")?;
    if variables.contains_key(VARIABLE) {
        return Ok(None);
    }
    let mut entry = InlineTable::new();
    entry.insert("value", FOLDER.into());
    entry.insert("relative", true.into());
    variables.insert(VARIABLE, value(entry));
    if let Some(mut key) = variables.key_mut(VARIABLE) {
        key.leaf_decor_mut().set_prefix(REASON);
    }
    Ok(Some(settings.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_what_they_have() {
        let line = format!("{REASON}{VARIABLE} = {{ value = \"{FOLDER}\", relative = true }}\n");
        let new = with_variable("").unwrap().unwrap();
        assert_eq!(new, format!("[env]\n{line}"));
        assert_eq!(with_variable(&new), Ok(None));
        let old = "# Mine.\n[build]\njobs = 1 # one\n\n[env]\nA = \"b\"\n";
        let new = with_variable(old).unwrap().unwrap();
        assert_eq!(new, format!("{old}{line}"));
        let mine = "[env]\nCUDA_LIBRARY_PATH = \"/opt/cuda\"\n";
        assert_eq!(with_variable(mine), Ok(None));
        assert_eq!(
            with_variable("env.CUDA_LIBRARY_PATH = \"/opt/cuda\""),
            Ok(None)
        );
        for (odd, problem) in [("env = 3", "`env` is no table"), ("[env", "")] {
            let error = with_variable(odd).unwrap_err();
            assert!(error.contains(problem) && !error.is_empty(), "{error}");
        }
    }

    #[test]
    fn only_what_is_missing_is_written() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let list = |root: &Path| -> Vec<_> {
            let files = files(root).unwrap().into_iter();
            files.map(|file| (file.path, file.is_there)).collect()
        };
        let (library, settings) = (root.join(LIBRARY.0), root.join(SETTINGS));
        assert_eq!(
            list(root),
            [(library.clone(), false), (settings.clone(), false)]
        );
        for file in files(root).unwrap() {
            fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            fs::write(file.path, file.text).unwrap();
        }
        assert_eq!(list(root), []);
        assert_eq!(fs::read(&library).unwrap(), b"!<arch>\n");
        fs::write(&settings, "[build]\njobs = 1\n").unwrap();
        assert_eq!(list(root), [(settings.clone(), true)]);
        let older = root.join(OLDER_SETTINGS);
        fs::write(&older, "").unwrap();
        assert_eq!(list(root), [(older.clone(), true)]);
        fs::remove_file(older).unwrap();
        fs::write(&settings, "[build").unwrap();
        let error = files(root).unwrap_err().to_string();
        assert!(error.contains("config.toml: "), "{error}");
    }
}
