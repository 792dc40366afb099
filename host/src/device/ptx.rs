//! Finds the PTX for a device.

use std::path::{Path, PathBuf};

use super::DeviceError;

/// Environment variable with the one folder to look for PTX in.
pub const PTX_FOLDER_VARIABLE: &str = "BLOCKWISE_PTX_DIR";

/// Where PTX is looked for. Its files are called `<crate>.sm_<XX>.ptx`, one for each target architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtxSource {
    /// This file.
    File(PathBuf),
    /// The first of these folders that holds PTX of the crate `stem`.
    Folders {
        /// The name before `.sm_XX.ptx`.
        stem: String,
        /// The folders, in the order of the search.
        folders: Vec<PathBuf>,
    },
}

/// A PTX file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The oldest architecture that runs it: 80 for `sm_80`.
    pub target: u32,
    /// Its text.
    pub text: String,
}

impl PtxSource {
    /// The kernels' PTX in its usual places: the folder that `BLOCKWISE_PTX_DIR` names and no other, or else a folder
    /// `ptx` near the running program (`target/ptx` for `target/release/blockwise`), or else `target/ptx` in the
    /// working directory or one above it.
    pub fn standard() -> Self {
        Self::of_crate("kernels")
    }

    /// As [`standard`](Self::standard), for the PTX of another crate.
    pub fn of_crate(stem: &str) -> Self {
        let chosen = std::env::var_os(PTX_FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
        let folders = match chosen {
            Some(folder) => vec![folder.into()],
            None => usual_folders(std::env::current_exe().ok(), std::env::current_dir().ok()),
        };
        Self::Folders {
            stem: stem.to_owned(),
            folders,
        }
    }

    /// What a user named: a folder with the kernels' PTX, or one file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.is_dir() {
            Self::Folders {
                stem: "kernels".to_owned(),
                folders: vec![path],
            }
        } else {
            Self::File(path)
        }
    }

    /// Reads the newest PTX that a device of this compute capability can run.
    ///
    /// # Errors
    /// When there is none, or it cannot be read, or it is no PTX.
    pub fn select(&self, compute_capability: (u32, u32)) -> Result<PtxFile, DeviceError> {
        let (stem, folders) = match self {
            Self::File(path) => return PtxFile::read(path)?.fitting(compute_capability),
            Self::Folders { stem, folders } => (stem, folders),
        };
        for folder in folders {
            let mut files = files_of(stem, folder)?;
            files.sort();
            let (major, minor) = compute_capability;
            let newest = files
                .iter()
                .rfind(|(target, _)| *target <= major * 10 + minor);
            if let Some((_, path)) = newest.or(files.first()) {
                return PtxFile::read(path)?.fitting(compute_capability);
            }
        }
        Err(DeviceError::PtxNotFound {
            stem: stem.clone(),
            folders: folders.clone(),
        })
    }
}

fn usual_folders(program: Option<PathBuf>, working: Option<PathBuf>) -> Vec<PathBuf> {
    // A program lies in target/release, a test in target/debug/deps, an installed one beside or above `ptx`.
    let near_program = program
        .iter()
        .flat_map(|file| file.ancestors().skip(1).take(3))
        .map(|folder| folder.join("ptx"));
    let above = working
        .iter()
        .flat_map(|folder| folder.ancestors())
        .map(|folder| folder.join("target").join("ptx"));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in near_program.chain(above) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The PTX files of crate `stem` in `folder` with their architectures. A folder that does not exist has none.
fn files_of(stem: &str, folder: &Path) -> Result<Vec<(u32, PathBuf)>, DeviceError> {
    let unreadable = |source| DeviceError::PtxUnreadable {
        path: folder.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if let Some(target) = entry
            .file_name()
            .to_str()
            .and_then(|name| target_of_name(stem, name))
        {
            files.push((target, entry.path()));
        }
    }
    Ok(files)
}

/// `kernels.sm_80.ptx` is for 80. A name like `sm_90a` is for one architecture only and nobody's default: skipped.
fn target_of_name(stem: &str, name: &str) -> Option<u32> {
    name.strip_prefix(stem)?
        .strip_prefix(".sm_")?
        .strip_suffix(".ptx")?
        .parse()
        .ok()
}

impl PtxFile {
    /// Reads a file and looks for the two directives that every PTX begins with.
    ///
    /// # Errors
    /// When it cannot be read or is no PTX.
    pub fn read(path: &Path) -> Result<Self, DeviceError> {
        let bytes = std::fs::read(path).map_err(|source| DeviceError::PtxUnreadable {
            path: path.to_owned(),
            source,
        })?;
        let not_ptx = |problem| DeviceError::NotPtx {
            origin: path.display().to_string(),
            problem,
        };
        let text = String::from_utf8(bytes).map_err(|_| not_ptx("it is not text"))?;
        if word_after(&text, ".version").is_none() {
            return Err(not_ptx("it has no .version"));
        }
        let target = target_of_text(&text).ok_or_else(|| not_ptx("it has no .target sm_XX"))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            text,
        })
    }

    /// The file beside this one that is for this architecture alone, such as `kernels.sm_90a.ptx` beside
    /// `kernels.sm_80.ptx`; this one if there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read, or is no PTX.
    pub(super) fn for_exactly(self, (major, minor): (u32, u32)) -> Result<Self, DeviceError> {
        let name = self.path.file_name().and_then(|name| name.to_str());
        let stem = name.and_then(|name| name.split_once(".sm_"));
        let Some((stem, _)) = stem else {
            return Ok(self);
        };
        let path = self
            .path
            .with_file_name(format!("{stem}.sm_{major}{minor}a.ptx"));
        match path.exists() {
            true => Self::read(&path),
            false => Ok(self),
        }
    }

    /// Whether it is for one architecture alone, as `sm_90a` is, and may use what only that one has.
    pub fn is_for_one_architecture(&self) -> bool {
        word_after(&self.text, ".target").is_some_and(|name| name.ends_with('a'))
    }

    fn fitting(self, compute_capability: (u32, u32)) -> Result<Self, DeviceError> {
        let (major, minor) = compute_capability;
        if self.target > major * 10 + minor {
            return Err(DeviceError::PtxTooNew {
                path: self.path,
                target: self.target,
                compute_capability,
            });
        }
        Ok(self)
    }
}

/// The number in `.target sm_80` or `.target sm_90a, debug`.
fn target_of_text(text: &str) -> Option<u32> {
    let digits = word_after(text, ".target")?.strip_prefix("sm_")?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The word behind the first such directive outside of comments: blanks and lines may be anywhere.
fn word_after<'a>(text: &'a str, directive: &str) -> Option<&'a str> {
    let (mut rest, mut found) = (text, false);
    loop {
        rest = rest.trim_start();
        if rest.starts_with("//") {
            rest = rest.split_once('\n')?.1;
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/")?.1;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || ",/".contains(c));
            // A single character that ends a word is passed over.
            let end = end.unwrap_or(rest.len()).max(1).min(rest.len());
            let (word, behind) = rest.split_at(end);
            if found || word.is_empty() {
                return (!word.is_empty()).then_some(word);
            }
            (found, rest) = (word == directive, behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITY: (u32, u32) = (9, 0);

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a temporary file");
        }
        folder
    }

    fn ptx(target: u32) -> String {
        format!("// a comment\n.version 7.0\n.target sm_{target}\n.address_size 64\n")
    }

    #[track_caller]
    fn check_choice(files: &[(&str, &str)], expected: u32) {
        let folder = folder_with(files);
        let file = PtxSource::at(folder.path())
            .select(CAPABILITY)
            .expect("there is a fitting file");
        assert_eq!(file.target, expected);
    }

    #[test]
    fn a_gpu_takes_what_is_for_its_architecture_alone() {
        let exact = ".version 8.0\n.target sm_90a\n";
        let folder = folder_with(&[
            ("kernels.sm_80.ptx", &ptx(80)),
            ("kernels.sm_90a.ptx", exact),
        ]);
        let source = PtxSource::at(folder.path());
        let chosen = |capability| {
            let newest = source.select(CAPABILITY).expect("there is one");
            newest.for_exactly(capability).expect("it is PTX")
        };
        assert_eq!(chosen((9, 0)).text, exact);
        assert!(chosen((9, 0)).is_for_one_architecture());
        assert_eq!(chosen((8, 9)).text, ptx(80));
        assert!(!chosen((8, 9)).is_for_one_architecture());
    }

    #[test]
    fn the_newest_that_the_device_runs_is_taken() {
        let (old, fitting, new) = (ptx(80), ptx(90), ptx(100));
        check_choice(
            &[
                ("kernels.sm_80.ptx", &old),
                ("kernels.sm_90.ptx", &fitting),
                ("kernels.sm_100.ptx", &new),
            ],
            90,
        );
        check_choice(
            &[("kernels.sm_80.ptx", &old), ("kernels.sm_100.ptx", &new)],
            80,
        );
        check_choice(
            &[
                ("kernels.sm_80.ptx", &old),
                ("kernels.sm_90a.ptx", &fitting),
            ],
            80,
        );
        check_choice(
            &[("kernels.sm_80.ptx", &old), ("other.sm_90.ptx", &fitting)],
            80,
        );
    }

    #[test]
    fn the_first_folder_with_ptx_wins() {
        let empty = folder_with(&[]);
        let first = folder_with(&[("kernels.sm_80.ptx", &ptx(80))]);
        let second = folder_with(&[("kernels.sm_90.ptx", &ptx(90))]);
        let source = PtxSource::Folders {
            stem: "kernels".into(),
            folders: vec![
                "/absent".into(),
                empty.path().into(),
                first.path().into(),
                second.path().into(),
            ],
        };
        assert_eq!(
            source.select(CAPABILITY).expect("found").path,
            first.path().join("kernels.sm_80.ptx")
        );
    }

    #[test]
    fn what_is_missing_is_told_with_every_folder() {
        let source = PtxSource::Folders {
            stem: "kernels".into(),
            folders: vec!["/absent/one".into(), "/absent/two".into()],
        };
        let error = source.select(CAPABILITY).expect_err("there is nothing");
        assert_eq!(
            error.to_string(),
            "no kernels.sm_XX.ptx found; looked in /absent/one, /absent/two"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("cargo xtask build-ptx"))
        );
    }

    #[test]
    fn ptx_for_newer_devices_only_is_told_as_such() {
        let folder = folder_with(&[("kernels.sm_100.ptx", &ptx(100))]);
        let error = PtxSource::at(folder.path())
            .select(CAPABILITY)
            .expect_err("too new");
        assert!(
            error
                .to_string()
                .ends_with("is for sm_100 and newer, but this device is sm_90"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_no_ptx_is_refused() {
        let folder = folder_with(&[
            ("text", "hello"),
            ("half", ".version 7.0\n"),
            ("kernels.sm_80.ptx", ""),
        ]);
        let told = |name: &str| {
            let error = PtxSource::at(folder.path().join(name))
                .select(CAPABILITY)
                .expect_err("no PTX");
            error.to_string()
        };
        assert!(told("text").ends_with("text is not PTX: it has no .version"));
        assert!(told("half").ends_with("half is not PTX: it has no .target sm_XX"));
        assert!(told("kernels.sm_80.ptx").contains("is not PTX"));
        assert!(told("absent").starts_with("cannot read"));
        std::fs::write(folder.path().join("bytes"), [0xFF, 0xFE]).expect("a temporary file");
        assert!(told("bytes").ends_with("it is not text"));
    }

    #[test]
    fn directives_stand_anywhere_outside_of_comments() {
        let one_line = ".version 8.3 .target sm_90a, debug .address_size 64";
        let commented =
            "/* .target sm_70\n */ .version\t8.0 // .target sm_75\n.target/**/sm_90a// newest\n";
        for (text, target) in [(one_line, 90), (commented, 90)] {
            let folder = folder_with(&[("k.ptx", text)]);
            let file = PtxFile::read(&folder.path().join("k.ptx")).expect("PTX");
            assert_eq!(file.target, target, "{text}");
            assert!(file.is_for_one_architecture(), "{text}");
        }
        for text in ["// .version 8.0\n", "/* .version 8.0", ".version", ""] {
            assert_eq!(word_after(text, ".version"), None, "{text}");
        }
    }

    #[test]
    fn folders_near_the_program_come_before_those_above_the_working_directory() {
        let folders = usual_folders(
            Some("/w/target/debug/deps/test".into()),
            Some("/w/sub".into()),
        );
        let expected = [
            "/w/target/debug/deps/ptx",
            "/w/target/debug/ptx",
            "/w/target/ptx",
            "/w/sub/target/ptx",
            "/target/ptx",
        ];
        assert_eq!(folders, expected.map(PathBuf::from));
    }
}
