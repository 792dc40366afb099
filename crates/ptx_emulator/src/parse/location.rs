//! The line table: `.file`, and `.loc` with its inlining chain.

use super::ast::Loc;
use crate::positions::{DEEPEST, Position, Positions};
use crate::source::is_library;
use std::collections::HashMap;

/// Resolves `.loc` directives in order.
pub(crate) struct Locations<'a> {
    files: HashMap<u32, &'a str>,
    /// Numbered positions, each with what follows it in its comment.
    numbered: HashMap<u32, &'a str>,
    /// Positions resolved so far.
    resolved: HashMap<u32, Position>,
    /// Positions of this function's `.loc` directives by file, line and column: later ones may be
    /// inlined at them.
    earlier: HashMap<[u32; 3], Position>,
}

impl<'a> Locations<'a> {
    /// `comments` are those of all `.loc` directives.
    pub(crate) fn new(
        files: &[(u32, &'a str)],
        comments: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut numbered = HashMap::new();
        for comment in comments {
            let mut rest = Some(comment);
            while let Some(text) = rest {
                if let Some((number, position)) = text.split_once('=')
                    && let Ok(number) = number.parse()
                {
                    numbered.insert(number, position);
                }
                rest = split(text).1;
            }
        }
        Self {
            files: files.iter().copied().collect(),
            numbered,
            resolved: HashMap::new(),
            earlier: HashMap::new(),
        }
    }

    /// Starts another function.
    pub(crate) fn begin(&mut self) {
        self.earlier.clear();
    }

    /// The position of one `.loc`; none if its line is 0 ("no source line").
    ///
    /// nvcc and Triton use `inlined_at` to name the `.loc` of the same function that it is inlined
    /// at. LLVM, which does not, puts the chain in a comment: `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6
    /// ] ]`. In embedded PTX, `cuda_builder` writes each chain once, and numbers those that come
    /// again: `// a.rs:1:2 @ 2=b.rs:3:4 @ c.rs:5:6`, later `// d.rs:7:8 @ 2`, or `// 2`.
    pub(crate) fn read(&mut self, loc: &Loc<'a>, positions: &mut Positions) -> Position {
        let outer = loc.inlined_at.map_or(Position::NONE, |at| {
            let known = self.earlier.get(&at).copied();
            known.unwrap_or_else(|| self.named(at, Position::NONE, positions))
        });
        let [_, line, _] = loc.at;
        let position = match line {
            0 => outer,
            _ => self
                .commented(loc, outer, positions)
                .unwrap_or_else(|| self.named(loc.at, outer, positions)),
        };
        self.earlier.insert(loc.at, position);
        position
    }

    /// A position whose file is given by a `.file` number.
    fn named(
        &self,
        [file, line, column]: [u32; 3],
        outer: Position,
        positions: &mut Positions,
    ) -> Position {
        let file = self.files.get(&file).copied().unwrap_or("<unknown>");
        positions.add(file, (line, column), outer)
    }

    /// The chain in the comment, if the comment describes this line.
    fn commented(
        &mut self,
        loc: &Loc<'a>,
        outer: Position,
        positions: &mut Positions,
    ) -> Option<Position> {
        let is_chain = loc.comment.contains(" @ ") && !loc.comment.contains(" @[ ");
        if is_chain || number(loc.comment).is_some() {
            let (_, [line, _]) = parts(split(self.without_number(loc.comment)?).0)?;
            return if line == loc.at[1] {
                self.chain(loc.comment, positions)
            } else {
                None
            };
        }
        let frames = loc.comment.split(" @[ ").map(|part| {
            let (file, at) = parts(part.trim_end_matches([' ', ']', '\r']).trim_start())?;
            Some((self.with_folder(file), at))
        });
        let frames: Vec<(&str, [u32; 2])> = frames.collect::<Option<_>>()?;
        let &(_, [line, _]) = frames.first()?;
        let outer = if frames.len() == 1 {
            outer
        } else {
            Position::NONE
        };
        let outwards = frames.into_iter().rev();
        let add = |outer, (file, [line, column]): (&str, [u32; 2])| {
            positions.add(file, (line, column), outer)
        };
        (line == loc.at[1]).then(|| outwards.fold(outer, add))
    }

    /// The position that a chain with numbers stands for.
    fn chain(&mut self, comment: &'a str, positions: &mut Positions) -> Option<Position> {
        let mut inner = Vec::new();
        let mut next = Some(comment);
        let mut outer = Position::NONE;
        while let Some(text) = next.filter(|_| inner.len() < DEEPEST) {
            let number = number(text);
            if let Some(&known) = number.and_then(|number| self.resolved.get(&number)) {
                outer = known;
                break;
            }
            let (position, further) = split(self.without_number(text)?);
            inner.push((number, parts(position)?));
            next = further;
        }
        for (number, (file, [line, column])) in inner.into_iter().rev() {
            outer = positions.add(file, (line, column), outer);
            if let Some(number) = number {
                self.resolved.insert(number, outer);
            }
        }
        Some(outer)
    }

    /// The chain from its first position on, which may be one with a number.
    fn without_number(&self, text: &'a str) -> Option<&'a str> {
        match number(text) {
            Some(number) => self.numbered.get(&number).copied(),
            None => Some(text),
        }
    }

    /// The full path of a library file that a comment names without folders.
    fn with_folder(&self, name: &'a str) -> &'a str {
        let is_it = |path: &&str| {
            let folder = path.strip_suffix(name);
            folder.is_some_and(|folder| folder.ends_with('/'))
        };
        let mut paths = self.files.values().copied().filter(is_it);
        match paths.next() {
            Some(path) if !name.contains('/') && is_library(path) && paths.all(is_library) => path,
            _ => name,
        }
    }
}

/// The first part of a chain, and the others.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" @ ") {
        Some((first, others)) => (first, Some(others)),
        None => (text, None),
    }
}

/// The number of a chain's first part: `3`, `3=a.rs:1:2`.
fn number(text: &str) -> Option<u32> {
    let (first, _) = split(text);
    let number = first.split_once('=').map_or(first, |(number, _)| number);
    number.trim().parse().ok()
}

/// `path:line:column`
fn parts(text: &str) -> Option<(&str, [u32; 2])> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, [line.parse().ok()?, column.parse().ok()?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceLocation;

    /// A `.loc`: its operands as numbers, and its comment.
    type Written<'a> = ([u32; 3], Option<[u32; 3]>, &'a str);

    /// The frames of the last of some `.loc`.
    fn frames<'a>(locations: &mut Locations<'a>, locs: &[Written<'a>]) -> Vec<SourceLocation> {
        let mut positions = Positions::default();
        locations.begin();
        let mut last = Position::NONE;
        for &(at, inlined_at, comment) in locs {
            let loc = Loc {
                at,
                inlined_at,
                comment,
            };
            last = locations.read(&loc, &mut positions);
        }
        positions.chain(last)
    }

    fn shown(frames: &[SourceLocation]) -> Vec<String> {
        frames.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(comment: &str, expected: &str) {
        let mut locations = Locations::new(&[(2, "other.rs")], []);
        let frames = frames(&mut locations, &[([2, 7, 3], None, comment)]);
        let user = crate::source::user_frame(&frames).map(ToString::to_string);
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
    fn an_operand_names_the_call_that_was_inlined() {
        let header = "/usr/local/cuda/targets/x86_64-linux/include/sm_30_intrinsics.hpp";
        let files = [(1, "/home/me/sum.cu"), (2, header)];
        let mut locations = Locations::new(&files, []);
        let caller = ([1, 20, 9], None, "");
        let helper = ([1, 5, 3], Some([1, 20, 9]), "");
        let inner = ([2, 111, 5], Some([1, 5, 3]), "");
        let frames = |locs: &[_]| frames(&mut Locations::new(&files, []), locs);
        let all = frames(&[caller, helper, inner]);
        assert_eq!(
            shown(&all),
            [
                &format!("{header}:111:5"),
                "/home/me/sum.cu:5:3",
                "/home/me/sum.cu:20:9"
            ]
        );
        let user = crate::source::user_frame(&all).map(ToString::to_string);
        assert_eq!(user.as_deref(), Some("/home/me/sum.cu:5:3"));
        // The `.loc` named by an operand is an earlier one of the same function.
        let other = ([1, 5, 3], Some([1, 30, 1]), "");
        assert_eq!(
            shown(&frames(&[caller, helper, other, inner]))[1..],
            ["/home/me/sum.cu:5:3", "/home/me/sum.cu:30:1"]
        );
        locations.read(
            &Loc {
                at: [1, 5, 3],
                inlined_at: Some([1, 20, 9]),
                comment: "",
            },
            &mut Positions::default(),
        );
        assert_eq!(
            shown(&self::frames(&mut locations, &[inner]))[1..],
            ["/home/me/sum.cu:5:3"]
        );
        // Line 0 can still be inlined somewhere.
        let merged = ([2, 0, 0], Some([1, 20, 9]), "");
        assert_eq!(shown(&frames(&[caller, merged])), ["/home/me/sum.cu:20:9"]);
        // A comment that only repeats the position does not end the chain.
        let commented = ([1, 5, 3], Some([1, 20, 9]), "sum.cu:5:3");
        assert_eq!(
            shown(&frames(&[caller, commented])),
            ["sum.cu:5:3", "/home/me/sum.cu:20:9"]
        );
        // Inlined into itself: the chain is cut.
        let circle = vec![([1, 5, 3], Some([1, 5, 3]), ""); 2 * DEEPEST];
        assert_eq!(frames(&circle).len(), DEEPEST);
    }

    #[test]
    fn names_without_folders_are_the_users_in_the_kernels_own_file() {
        let chain = "standard.py:7:3 @[ sums.py:9:1 ]";
        let user = |files: &[(u32, &'static str)], chain| {
            let locs = [([2, 7, 3], None, chain)];
            let frames = frames(&mut Locations::new(files, []), &locs);
            crate::source::user_frame(&frames).map(ToString::to_string)
        };
        let bare = [(1, "sums.py"), (2, "standard.py")];
        assert_eq!(user(&bare, chain).as_deref(), Some("sums.py:9:1"));
        let language = "/lib/python3/site-packages/triton/language/standard.py";
        let whole = [(1, "/home/me/sums.py"), (2, language)];
        assert_eq!(user(&whole, chain).as_deref(), Some("sums.py:9:1"));
        // A file in the kernel's own folder is the user's, whatever its name.
        let mine = [(1, "/home/me/sums.py"), (2, "/home/me/standard.py")];
        let named = "/home/me/standard.py:7:3 @[ /home/me/sums.py:9:1 ]";
        assert_eq!(
            user(&mine, named).as_deref(),
            Some("/home/me/standard.py:7:3")
        );
    }

    #[test]
    fn numbered_chains_are_the_ones_that_they_stand_for() {
        let comments = [
            "3=/rustc/1/library/core/src/ptr.rs:7:3 @ 2=src/a b.rs:9:1 @ 1=src/c.rs:2:2",
            "4=src/d.rs:7:8 @ 2",
            "5=src/e.rs:7:1 @ 5",
            "6=src/f.rs:7:1 @ 99",
            "7=no position",
            "src/g.rs:7:8 @ 8=src/h.rs:9:1 @ src/i.rs:2:2",
            "src/j.rs:7:8 @ 8",
        ];
        let mut locations = Locations::new(&[(2, "other.rs")], comments);
        let mut frames = |comment| {
            let frames = frames(&mut locations, &[([2, 7, 3], None, comment)]);
            locations.resolved.clear();
            shown(&frames)
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
        for (comment, innermost) in [(comments[5], "src/g.rs:7:8"), (comments[6], "src/j.rs:7:8")] {
            assert_eq!(frames(comment), [innermost, "src/h.rs:9:1", "src/i.rs:2:2"]);
        }
        // Text that no tool writes: the chain is cut, and the `.loc` itself remains.
        assert_eq!(frames("5").len(), DEEPEST);
        for comment in ["6", "7", "9", "2", "2 apples", "a.rs:7 @ 2", "a.rs:8:1 @ 2"] {
            assert_eq!(frames(comment), ["other.rs:7:3"], "{comment}");
        }
    }

    #[test]
    fn line_zero_is_no_place() {
        let mut locations = Locations::new(&[], []);
        assert!(frames(&mut locations, &[([1, 0, 0], None, "a.rs:0:0")]).is_empty());
    }
}
