//! The line table: `.file`, `.loc`, and LLVM's comment behind each `.loc`.

use crate::source::SourceLocation;
use std::collections::HashMap;

/// Names files and reads inlining chains.
pub(crate) struct Locations<'a> {
    files: HashMap<u32, &'a str>,
}

impl<'a> Locations<'a> {
    pub(crate) fn new(files: &[(u32, &'a str)]) -> Self {
        Self {
            files: files.iter().copied().collect(),
        }
    }

    /// The frames of one `.loc`, innermost first; none when the line is 0 ("no line of the source").
    ///
    /// PTX that LLVM writes has no inlining operands, but its comment holds the chain:
    /// `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`.
    pub(crate) fn frames(
        &self,
        file: u32,
        line: u32,
        column: u32,
        comment: &str,
    ) -> Vec<SourceLocation> {
        if line == 0 {
            return Vec::new();
        }
        let chain: Option<Vec<_>> = comment
            .split(" @[ ")
            .map(|part| frame(part.trim_end_matches([' ', ']', '\r']).trim_start()))
            .collect();
        match chain {
            Some(chain) if chain[0].line == line => chain,
            _ => {
                let file = self
                    .files
                    .get(&file)
                    .copied()
                    .unwrap_or("<unknown>")
                    .to_owned();
                vec![SourceLocation { file, line, column }]
            }
        }
    }
}

/// The frame to name in a report: the innermost one that the user wrote.
pub(crate) fn user_frame(frames: &[SourceLocation]) -> Option<&SourceLocation> {
    frames
        .iter()
        .find(|frame| frame.line > 0 && !is_library(&frame.file))
        .or(frames.last())
}

/// Rust's own library, and the device API every kernel is built on.
fn is_library(file: &str) -> bool {
    let file = file.replace('\\', "/");
    [
        "/rustc/",
        "/rustlib/src/rust/",
        "/library/core/src/",
        "/library/alloc/src/",
        "/library/std/src/",
        "/compiler_builtins",
    ]
    .iter()
    .any(|part| file.contains(part))
        || ["library/core/", "library/alloc/"]
            .iter()
            .any(|start| file.starts_with(start))
        || file
            .split('/')
            .any(|part| part == "cuda_std" || part.starts_with("cuda_std-"))
}

/// `path:line:column`
fn frame(text: &str) -> Option<SourceLocation> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(SourceLocation {
        file: file.to_owned(),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comment: &str, expected: &str) {
        let files = Locations::new(&[(2, "other.rs")]);
        let frames = files.frames(2, 7, 3, comment);
        let user = user_frame(&frames).map(ToString::to_string);
        assert_eq!(user.as_deref(), Some(expected));
    }

    #[test]
    fn innermost_user_frame() {
        check("", "other.rs:7:3");
        check("src/a.rs:7:3", "src/a.rs:7:3");
        check(
            "/rustc/1/library/core/src/ptr.rs:7:3 @[ src/a b.rs:9:1 @[ src/c.rs:2:2 ] ]",
            "src/a b.rs:9:1",
        );
        check(
            "crates/cuda_std/src/thread.rs:7:3 @[ src/c.rs:2:2 ]",
            "src/c.rs:2:2",
        );
        check(
            "/rustc/1/library/core/src/ptr.rs:7:3",
            "/rustc/1/library/core/src/ptr.rs:7:3",
        );
        check("somebody's own comment", "other.rs:7:3");
    }

    #[test]
    fn line_zero_is_no_place() {
        assert!(Locations::new(&[]).frames(1, 0, 0, "a.rs:0:0").is_empty());
    }
}
