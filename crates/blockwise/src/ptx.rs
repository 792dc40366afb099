//! PTX texts, and the selection of one for a device.

use std::path::{Path, PathBuf};

use launch_contract::launch::{Kernels, KernelsFile};

use crate::{DeviceKind, DeviceProperties, Error, Result};

/// The location of a crate's PTX: a file, or a folder with files named `<crate>.sm_<XX>.ptx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtxSource {
    /// This file.
    File(PathBuf),
    /// A folder with one file per architecture.
    Folder(PathBuf),
}

/// A PTX text with its architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFile {
    /// Its source, for messages: the file's path, or what embeds it.
    pub origin: String,
    /// The oldest architecture that can run it: 80 for `sm_80`.
    pub target: u32,
    /// Its text.
    pub text: String,
}

impl PtxSource {
    /// A path given by a user: a folder, or one file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.is_dir() {
            Self::Folder(path)
        } else {
            Self::File(path)
        }
    }

    /// Reads the PTX of crate `stem` for a device: the newest that it can run; a GPU prefers one
    /// for exactly its architecture (`sm_90a`).
    ///
    /// # Errors
    /// If there is none, it cannot be read, or it is not PTX.
    pub fn select(&self, stem: &str, device: &DeviceProperties) -> Result<PtxFile> {
        let folder = match self {
            Self::File(path) => return PtxFile::read(path)?.fitting(device),
            Self::Folder(folder) => folder,
        };
        let files = files_of(stem, folder)?;
        let names: Vec<&str> = files.iter().map(|(arch, _)| arch.as_str()).collect();
        match choose(&names, device) {
            Some(chosen) => PtxFile::read(&files[chosen].1)?.fitting(device),
            None => Err(Error::NoArchitecture {
                package: stem.to_owned(),
                origin: folder.display().to_string(),
                architectures: names.join(", "),
                compute_capability: device.compute_capability,
            }),
        }
    }
}

/// The PTX files of crate `stem` in `folder`, with the architectures in their names.
fn files_of(stem: &str, folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let unreadable = |source| Error::PtxUnreadable {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let arch = name
            .and_then(|name| {
                name.strip_prefix(stem)?
                    .strip_prefix('.')?
                    .strip_suffix(".ptx")
            })
            .filter(|arch| number(arch).is_some());
        if let Some(arch) = arch {
            files.push((arch.to_owned(), path));
        }
    }
    files.sort();
    Ok(files)
}

/// The number in `sm_80` or `sm_90a`.
fn number(arch: &str) -> Option<u32> {
    let digits = arch.strip_prefix("sm_")?;
    digits.strip_suffix('a').unwrap_or(digits).parse().ok()
}

/// Index of the architecture that suits a device best.
fn choose(architectures: &[&str], device: &DeviceProperties) -> Option<usize> {
    let (major, minor) = device.compute_capability;
    let capability = major * 10 + minor;
    if device.kind == DeviceKind::Cuda {
        let own = format!("sm_{capability}a");
        if let Some(own) = architectures.iter().position(|&arch| arch == own) {
            return Some(own);
        }
    }
    let newest = |(place, arch): (usize, &&str)| {
        // PTX for one architecture runs on no other.
        let number = number(arch).filter(|_| !arch.ends_with('a'))?;
        (number <= capability).then_some((number, place))
    };
    let fitting = architectures.iter().enumerate().filter_map(newest);
    fitting.max().map(|(_, place)| place)
}

impl PtxFile {
    /// Reads a file and checks for the two directives that every PTX starts with.
    ///
    /// # Errors
    /// If it cannot be read or is not PTX.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::PtxUnreadable {
            path: path.to_owned(),
            source,
        })?;
        let origin = path.display().to_string();
        match String::from_utf8(bytes) {
            Ok(text) => Self::from_text(text, origin),
            Err(_) => Err(Error::NotPtx {
                origin,
                problem: "it is not text",
            }),
        }
    }

    /// PTX from a text. `origin` describes its source.
    ///
    /// # Errors
    /// If it is not PTX.
    pub fn from_text(text: impl Into<String>, origin: impl Into<String>) -> Result<Self> {
        let (text, origin) = (text.into(), origin.into());
        let not_ptx = |problem| Error::NotPtx {
            origin: origin.clone(),
            problem,
        };
        if word_after(&text, ".version").is_none() {
            return Err(not_ptx("it has no .version"));
        }
        let target = target_of_text(&text).ok_or_else(|| not_ptx("it has no .target sm_XX"))?;
        Ok(Self {
            origin,
            target,
            text,
        })
    }

    /// The embedded PTX of a crate for a device, with all its kernels.
    pub(crate) fn of_embedded(
        kernels: &'static Kernels,
        device: &DeviceProperties,
    ) -> Result<Self> {
        let file = embedded(kernels, |file| file.only.is_empty(), device)?;
        Self::of_file(kernels, file)
    }

    /// A file embedded by a crate, with all that it has.
    ///
    /// # Errors
    /// If it is not PTX, which no build writes.
    pub fn of_file(kernels: &Kernels, file: &KernelsFile) -> Result<Self> {
        let origin = origin(kernels, file);
        match file.text() {
            Some(text) => Self::from_text(text, origin),
            None => Err(damaged(origin)),
        }
    }

    fn fitting(self, device: &DeviceProperties) -> Result<Self> {
        let (major, minor) = device.compute_capability;
        if self.target > major * 10 + minor {
            return Err(Error::PtxTooNew {
                origin: self.origin,
                target: self.target,
                compute_capability: device.compute_capability,
            });
        }
        Ok(self)
    }
}

/// What messages call an embedded file.
pub(crate) fn origin(kernels: &Kernels, file: &KernelsFile) -> String {
    format!("the kernels of `{}` for {}", kernels.package, file.arch)
}

/// The error for an embedded file that no build wrote.
pub(crate) fn damaged(origin: String) -> Error {
    Error::NotPtx {
        origin,
        problem: "its bytes are damaged",
    }
}

/// The best of those embedded files for a device.
pub(crate) fn embedded(
    kernels: &'static Kernels,
    wanted: impl Fn(&KernelsFile) -> bool,
    device: &DeviceProperties,
) -> Result<&'static KernelsFile> {
    let package = kernels.package;
    if kernels.files.is_empty() {
        return Err(Error::NoKernels {
            what: format!("crate `{package}`"),
        });
    }
    let files: Vec<_> = kernels.files.iter().filter(|file| wanted(file)).collect();
    let names: Vec<&str> = files.iter().map(|file| file.arch).collect();
    match choose(&names, device) {
        Some(chosen) => Ok(files[chosen]),
        None => Err(Error::NoArchitecture {
            package: package.to_owned(),
            origin: "the program".to_owned(),
            architectures: names.join(", "),
            compute_capability: device.compute_capability,
        }),
    }
}

/// The number in `.target sm_80` or `.target sm_90a, debug`.
pub(crate) fn target_of_text(text: &str) -> Option<u32> {
    let digits = word_after(text, ".target")?.strip_prefix("sm_")?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The word after the first such directive outside comments, across spaces and lines.
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
            // Skips a single character that ends a word.
            let end = end.unwrap_or(rest.len()).max(1).min(rest.len());
            let (word, after) = rest.split_at(end);
            if found || word.is_empty() {
                return (!word.is_empty()).then_some(word);
            }
            (found, rest) = (word == directive, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use launch_contract::launch::Piece;

    use super::*;

    fn device(kind: DeviceKind) -> DeviceProperties {
        DeviceProperties {
            kind,
            compute_capability: (9, 0),
            ..DeviceProperties::for_tests()
        }
    }

    #[track_caller]
    fn chosen(architectures: &[&str], kind: DeviceKind) -> Option<usize> {
        choose(architectures, &device(kind))
    }

    #[test]
    fn the_newest_that_runs_is_taken_and_a_gpu_takes_its_own() {
        let all = ["sm_80", "sm_100", "sm_90a", "sm_89", "sm_100a"];
        assert_eq!(chosen(&all, DeviceKind::Cuda), Some(2));
        assert_eq!(chosen(&all, DeviceKind::Emulator), Some(3));
        assert_eq!(chosen(&["sm_80", "sm_90"], DeviceKind::Cuda), Some(1));
        assert_eq!(chosen(&["sm_100", "sm_100a"], DeviceKind::Cuda), None);
        assert_eq!(chosen(&[], DeviceKind::Cuda), None);
    }

    #[test]
    fn a_kernel_comes_from_the_best_file_that_has_it() {
        // Without a compressor: the last block, stored, its length, its complement, and itself.
        const BYTES: &[u8] = b"\x01\x1b\x00\xe4\xff.version 7.0\n.target sm_80\n";
        const PIECES: &[Piece] = &[Piece {
            kernel: "",
            lines: 2,
            len: 27,
            compressed: 32,
        }];
        let file = |arch, only| KernelsFile {
            arch,
            only,
            pieces: PIECES,
            bytes: BYTES,
        };
        let files = vec![file("sm_80", &[]), file("sm_90a", &["fast"])];
        let kernels: &'static Kernels = Box::leak(Box::new(Kernels {
            package: "k",
            files: files.leak(),
        }));
        let arch = |kernel, kind| {
            let file = embedded(kernels, |file| file.has(kernel), &device(kind));
            file.map(|file| file.arch).expect("there is one")
        };
        assert_eq!(arch("fast", DeviceKind::Cuda), "sm_90a");
        assert_eq!(arch("other", DeviceKind::Cuda), "sm_80");
        assert_eq!(arch("fast", DeviceKind::Emulator), "sm_80");
        let whole = PtxFile::of_embedded(kernels, &device(DeviceKind::Cuda));
        assert_eq!(whole.expect("there is one").target, 80);
    }

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a temporary file");
        }
        folder
    }

    const SM_80: &str = "// .target sm_10\n.version 7.0\n.target sm_80\n";

    #[test]
    fn a_folder_gives_the_file_of_its_crate() {
        let folder = folder_with(&[
            ("kernels.sm_80.ptx", SM_80),
            ("kernels.sm_100.ptx", ".version 8.6 .target sm_100"),
            ("others.sm_90.ptx", ".version 7.0 .target sm_90"),
            ("kernels.txt", ""),
        ]);
        let source = PtxSource::at(folder.path());
        let file = source
            .select("kernels", &device(DeviceKind::Cuda))
            .expect("there is one");
        assert_eq!((file.target, file.text.as_str()), (80, SM_80));
        let error = source
            .select("none", &device(DeviceKind::Cuda))
            .expect_err("no file");
        assert!(matches!(error, Error::NoArchitecture { .. }), "{error}");
        assert!(
            error.to_string().ends_with(" has no PTX of `none`"),
            "{error}"
        );
    }

    #[test]
    fn files_that_are_no_ptx_or_too_new_are_refused() {
        let folder = folder_with(&[
            ("empty.ptx", ""),
            ("no_target.ptx", ".version 7.0"),
            ("new.ptx", ".version 8.6\n.target sm_100a, debug"),
        ]);
        let of = |name: &str| {
            let source = PtxSource::at(folder.path().join(name));
            let error = source.select("kernels", &device(DeviceKind::Cuda));
            error.expect_err("refused").to_string()
        };
        assert!(of("empty.ptx").contains("no .version"));
        assert!(of("no_target.ptx").contains("no .target"));
        assert!(of("new.ptx").contains("sm_100"));
        assert!(of("absent.ptx").contains("cannot read"));
    }
}
