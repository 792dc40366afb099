//! The line table: `.file`, `.loc`, and LLVM's comment behind each `.loc`.

use crate::source::SourceLocation;
use std::collections::HashMap;

/// Names files and reads inlining chains.
pub(crate) struct Locations<'a> {
    files: HashMap<u32, &'a str>,
    /// Numbered positions, each with the number of the one that it is inlined into.
    numbered: HashMap<u32, (&'a str, Option<u32>)>,
}

/// More than any compiler inlines; numbers that go round in a circle end here.
const DEEPEST: usize = 256;

impl<'a> Locations<'a> {
    /// `comments` are those of all `.loc`.
    pub(crate) fn new(
        files: &[(u32, &'a str)],
        comments: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut numbered = HashMap::new();
        for comment in comments {
            let mut parts = comment.split(" @ ").peekable();
            while let Some(part) = parts.next() {
                let Some((number, position)) = part.split_once('=') else {
                    break;
                };
                let Ok(number) = number.parse() else { break };
                let outer = parts.peek().and_then(|next| first_number(next));
                numbered.insert(number, (position, outer));
            }
        }
        Self {
            files: files.iter().copied().collect(),
            numbered,
        }
    }

    /// The frames of one `.loc`, innermost first; none when the line is 0 ("no line of the source").
    ///
    /// PTX that LLVM writes has no inlining operands, but its comment holds the chain:
    /// `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`. `cuda_builder` numbers the chains of PTX that goes into a program, and writes each
    /// once: `// 3=a.rs:1:2 @ 2=b.rs:3:4 @ 1=c.rs:5:6`, later `// 3`, or `// 4=d.rs:7:8 @ 2`.
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
        let chain = match first_number(comment) {
            Some(number) => self.chain(number),
            None => comment
                .split(" @[ ")
                .map(|part| frame(part.trim_end_matches([' ', ']', '\r']).trim_start()))
                .collect(),
        };
        match chain {
            Some(chain) if chain.first().is_some_and(|first| first.line == line) => chain,
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

    fn chain(&self, number: u32) -> Option<Vec<SourceLocation>> {
        let (mut chain, mut next) = (Vec::new(), Some(number));
        while let Some(number) = next.filter(|_| chain.len() < DEEPEST) {
            let (position, outer) = self.numbered.get(&number)?;
            chain.push(frame(position)?);
            next = *outer;
        }
        Some(chain)
    }
}

/// The number that a comment or a part of one begins with: `3`, `3=a.rs:1:2`.
fn first_number(text: &str) -> Option<u32> {
    let first = text.split(" @ ").next()?;
    let number = first.split_once('=').map_or(first, |(number, _)| number);
    number.trim().parse().ok()
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
        let files = Locations::new(&[(2, "other.rs")], []);
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
    fn numbered_chains_are_the_ones_that_they_stand_for() {
        let comments = [
            "3=/rustc/1/library/core/src/ptr.rs:7:3 @ 2=src/a b.rs:9:1 @ 1=src/c.rs:2:2",
            "4=src/d.rs:7:8 @ 2",
            "5=src/e.rs:7:1 @ 5",
            "6=src/f.rs:7:1 @ 99",
            "7=no position",
        ];
        let locations = Locations::new(&[(2, "other.rs")], comments);
        let frames = |comment: &str| {
            let frames = locations.frames(2, 7, 3, comment);
            frames.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let outer = ["src/a b.rs:9:1", "src/c.rs:2:2"];
        for comment in [comments[0], "3"] {
            assert_eq!(frames(comment)[0], "/rustc/1/library/core/src/ptr.rs:7:3");
            assert_eq!(frames(comment)[1..], outer);
        }
        for comment in [comments[1], "4"] {
            assert_eq!(frames(comment)[0], "src/d.rs:7:8");
            assert_eq!(frames(comment)[1..], outer);
        }
        // Text that nobody wrote so: it ends, and the `.loc` itself is left.
        assert_eq!(frames("5").len(), DEEPEST);
        for comment in ["6", "7", "8", "2", "2 apples"] {
            assert_eq!(frames(comment), ["other.rs:7:3"], "{comment}");
        }
    }

    #[test]
    fn line_zero_is_no_place() {
        assert!(
            Locations::new(&[], [])
                .frames(1, 0, 0, "a.rs:0:0")
                .is_empty()
        );
    }
}
