//! A set of LLVM tools: `llvm-link`, `opt` and `llc` of one version in one folder.

use std::path::{Path, PathBuf};

use super::machine::{Machine, executable};
use super::{Rejection, Version};

/// Three tools of one version.
#[derive(Clone, Debug)]
pub(crate) struct LlvmTools {
    pub(crate) llvm_link: PathBuf,
    pub(crate) opt: PathBuf,
    pub(crate) llc: PathBuf,
    pub(crate) version: Version,
}

impl LlvmTools {
    /// The set in `folder` that fits a compiler whose own LLVM is `needed`: the oldest that is not
    /// older, because it is closest to what the compiler was tested with. Both `llc` and `llc-22`
    /// are considered.
    pub(crate) fn choose(
        machine: &dyn Machine,
        folder: &Path,
        needed: Version,
    ) -> Result<Self, Rejection> {
        let mut newest_too_old = None;
        let mut fitting: Option<Self> = None;
        let mut broken = None;
        for suffix in suffixes(folder) {
            let Some([llvm_link, opt, llc]) = complete_set(folder, &suffix) else {
                continue;
            };
            match Self::examine(machine, llvm_link, opt, llc) {
                Ok(tools) if tools.version < needed => {
                    newest_too_old = newest_too_old.max(Some(tools.version))
                }
                Ok(tools)
                    if fitting
                        .as_ref()
                        .is_none_or(|best| tools.version < best.version) =>
                {
                    fitting = Some(tools)
                }
                Ok(_) => {}
                Err(rejection) => broken = Some(rejection),
            }
        }
        match (fitting, broken, newest_too_old) {
            (Some(tools), ..) => Ok(tools),
            (None, Some(rejection), _) => Err(rejection),
            (None, None, Some(found)) => Err(Rejection::OldLlvm {
                folder: folder.to_owned(),
                found,
                needed,
            }),
            (None, None, None) => Err(Rejection::NoLlvm {
                folder: folder.to_owned(),
                needed,
            }),
        }
    }

    fn examine(
        machine: &dyn Machine,
        llvm_link: PathBuf,
        opt: PathBuf,
        llc: PathBuf,
    ) -> Result<Self, Rejection> {
        let text =
            machine
                .output(&llc, &["--version"])
                .map_err(|source| Rejection::DoesNotRun {
                    program: llc.clone(),
                    message: source.to_string(),
                })?;
        let version = parse_version(&text).ok_or(Rejection::Unreadable {
            program: llc.clone(),
            what: "LLVM version",
        })?;
        // Distributions may omit targets.
        if !text.contains("nvptx64") {
            return Err(Rejection::NoNvptx { llc });
        }
        Ok(Self {
            llvm_link,
            opt,
            llc,
            version,
        })
    }
}

/// The three tools with names that end in `suffix`, if all exist.
fn complete_set(folder: &Path, suffix: &str) -> Option<[PathBuf; 3]> {
    let paths =
        ["llvm-link", "opt", "llc"].map(|name| folder.join(executable(&format!("{name}{suffix}"))));
    paths.iter().all(|path| path.is_file()).then_some(paths)
}

/// Suffixes of `llc` in a folder's file names: empty, or `-` and a number.
fn suffixes(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut suffixes: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let suffix = name
                .strip_suffix(std::env::consts::EXE_SUFFIX)?
                .strip_prefix("llc")?
                .to_owned();
            let number = suffix.strip_prefix('-').unwrap_or("0");
            (suffix.is_empty() || number.parse::<u32>().is_ok()).then_some(suffix)
        })
        .collect();
    suffixes.sort();
    suffixes
}

/// Parses `Debian LLVM version 22.1.8` or `  LLVM version 22.1.2-rust-1.95.0-stable`.
fn parse_version(text: &str) -> Option<Version> {
    text.lines()
        .find_map(|line| Version::parse(line.split_once("LLVM version ")?.1))
}
