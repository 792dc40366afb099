//! The source positions of a program's instructions, as a tree, because inlining chains share their
//! outer parts.

use crate::source::{SourceLocation, user_frame};
use std::collections::HashMap;

/// Deeper than any compiler inlines; longer chains are cut.
pub(crate) const DEEPEST: usize = 256;

/// A position and its inlining chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Position(u32);

/// All positions of a program.
#[derive(Default)]
pub(crate) struct Positions {
    files: Vec<String>,
    numbers: HashMap<String, u32>,
    nodes: Vec<Node>,
    known: HashMap<Node, Position>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    file: u32,
    line: u32,
    column: u32,
    outer: Position,
}

impl Position {
    /// No source position.
    pub(crate) const NONE: Self = Self(0);
}

impl Positions {
    /// A line and column of a file, inlined at `outer`.
    pub(crate) fn add(
        &mut self,
        file: &str,
        (line, column): (u32, u32),
        outer: Position,
    ) -> Position {
        let file = match self.numbers.get(file) {
            Some(&number) => number,
            None => {
                let number = self.files.len() as u32;
                self.files.push(file.to_owned());
                self.numbers.insert(file.to_owned(), number);
                number
            }
        };
        let node = Node {
            file,
            line,
            column,
            outer,
        };
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            Position(self.nodes.len() as u32)
        })
    }

    /// Every frame, innermost first.
    pub(crate) fn chain(&self, position: Position) -> Vec<SourceLocation> {
        let node = |at: Position| self.nodes.get((at.0 as usize).checked_sub(1)?);
        let nodes = std::iter::successors(node(position), |inner| node(inner.outer));
        let located = |node: &Node| SourceLocation {
            file: self.files[node.file as usize].clone(),
            line: node.line,
            column: node.column,
        };
        nodes.take(DEEPEST).map(located).collect()
    }

    /// The frame to name in a report: the innermost in the user's code, or else the outermost.
    pub(crate) fn user(&self, position: Position) -> Option<SourceLocation> {
        user_frame(&self.chain(position)).cloned()
    }
}
