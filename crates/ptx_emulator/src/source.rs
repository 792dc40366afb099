use serde::{Deserialize, Serialize};
use std::fmt;

/// A source location, from the line table of the PTX.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLocation {
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if the table has none.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}", self.file, self.line),
            column => write!(f, "{}:{}:{column}", self.file, self.line),
        }
    }
}

/// The frame to name in a report: the innermost one in the user's code. `frames` start with the
/// innermost.
pub(crate) fn user_frame(frames: &[SourceLocation]) -> Option<&SourceLocation> {
    user_frames(frames).next().or(frames.last())
}

/// The frames in the user's code, in their order; `frames` start with the innermost.
pub(crate) fn user_frames(frames: &[SourceLocation]) -> impl Iterator<Item = &SourceLocation> {
    let own = frames.last().map_or("", |own| own.file.as_str());
    let users = move |frame: &&SourceLocation| frame.line > 0 && is_users(&frame.file, own);
    frames.iter().filter(users)
}

/// The frames of a location other than the user's `own`, each as a clause: what the user's line
/// calls, innermost first, then what it is inlined into. Rust's libraries and the code that
/// `#[kernel]` adds are passed over.
pub(crate) fn other_frames(frames: &[SourceLocation], own: Option<&SourceLocation>) -> Vec<String> {
    let is_rusts = |frame: &SourceLocation| is_rusts(&frame.file.replace('\\', "/"));
    let only_users = own.is_some_and(|own| !is_rusts(own));
    let own = frames.iter().position(|frame| Some(frame) == own);
    let clause = |(at, frame): (usize, &SourceLocation)| match own {
        Some(own) if at == own => None,
        _ if only_users && is_rusts(frame) => None,
        Some(own) if at < own => Some(format!("in {frame}, inlined there")),
        _ => Some(format!("inlined into {frame}")),
    };
    frames.iter().enumerate().filter_map(clause).collect()
}

/// Whether a file is the user's; `own` is the file of the kernel.
///
/// A name without folders does not identify its author; only the kernel's own file is then assumed
/// to be the user's.
fn is_users(file: &str, own: &str) -> bool {
    let file = file.replace('\\', "/");
    !is_library(&file) && (file.contains('/') || file == own)
}

/// Whether a folder belongs to a crate that every kernel is compiled with: in the repository, or as
/// cargo unpacks a package.
fn is_own(folder: &str) -> bool {
    ["cuda_std", "blockwise_std", "launch_contract"]
        .iter()
        .any(|name| {
            let version = folder.strip_prefix(name);
            version.is_some_and(|version| version.is_empty() || version.starts_with('-'))
        })
}

/// Rust's libraries and the device API of all kernels.
fn is_rusts(file: &str) -> bool {
    let inside = [
        "/rustc/",
        "/rustlib/src/rust/",
        "/library/core/src/",
        "/library/alloc/src/",
        "/library/std/src/",
        "/compiler_builtins",
    ];
    inside.iter().any(|part| file.contains(part))
        || ["library/core/", "library/alloc/"]
            .iter()
            .any(|start| file.starts_with(start))
        || file.split('/').any(is_own)
}

/// Files that come with a compiler: Rust's libraries and the device API of all kernels, CUDA's
/// headers, Triton's and Numba's libraries.
pub(crate) fn is_library(file: &str) -> bool {
    let inside = [
        "/usr/include/",
        "/usr/lib/",
        "/usr/local/cuda",
        "/lib/clang/",
        "/site-packages/",
        "/dist-packages/",
        "/triton/language/",
    ];
    let toolkit = || {
        let below = file.split_once("/targets/").map(|(_, below)| below);
        below.is_some_and(|below| below.contains("/include/"))
    };
    inside.iter().any(|part| file.contains(part)) || is_rusts(file) || toolkit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_rusts_libraries_are_passed_over() {
        let frame = |file: &str, line| SourceLocation {
            file: file.to_owned(),
            line,
            column: 5,
        };
        let frames = [
            frame("/rustc/0123/library/core/src/ptr/mut_ptr.rs", 9),
            frame("src/scan.rs", 15),
            frame("src/each.rs", 4),
            frame("cuda_std/src/lib.rs", 116),
        ];
        let others = other_frames(&frames, user_frame(&frames));
        assert_eq!(others, ["inlined into src/each.rs:4:5"]);
        // Where all of it is theirs, all of it is shown.
        let theirs = [frames[0].clone(), frames[3].clone()];
        let others = other_frames(&theirs, user_frame(&theirs));
        assert_eq!(others.len(), 1, "{others:?}");
    }
}
