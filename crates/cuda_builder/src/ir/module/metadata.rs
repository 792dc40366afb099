//! LLVM metadata, kept as text. Source positions are read from it on request.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lexer::{Lexer, Token};
use super::{Item, Module};

/// `!7 = !DILocation(line: 3, column: 5, scope: !2)`.
#[derive(Clone, Debug)]
pub(crate) struct Metadata<'a> {
    text: Cow<'a, str>,
}

impl<'a> Metadata<'a> {
    pub(super) fn new(text: Cow<'a, str>) -> Self {
        Metadata { text }
    }

    /// `!7 = …`.
    pub(crate) fn numbered(number: usize, node: &str) -> Self {
        Self::new(Cow::Owned(format!("!{number} = {node}\n")))
    }

    pub(super) fn source(&self) -> &str {
        &self.text
    }

    /// The number or name, and the node: `7` and `!DILocation(…)`.
    pub(crate) fn parts(&self) -> Option<(&str, &str)> {
        self.text.trim().strip_prefix('!')?.split_once(" = ")
    }

    /// The node without its number.
    pub(crate) fn node(&self) -> &str {
        self.parts().map_or("", |(_, node)| node)
    }

    /// Replaces the node, keeping its number.
    pub(crate) fn replace(&mut self, node: &str) {
        if let Some((name, _)) = self.parts() {
            self.text = Cow::Owned(format!("!{name} = {node}\n"));
        }
    }
}

/// The numbered nodes of a module.
pub(crate) struct Nodes<'m> {
    nodes: HashMap<&'m str, &'m str>,
}

/// One function in a chain of inlined calls, and the source position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'m> {
    /// The function's mangled name, or its plain name.
    pub(crate) function: &'m str,
    /// The file as rustc recorded it, and the folder that it is relative to.
    pub(crate) file: &'m str,
    pub(crate) folder: &'m str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One frame of a position, as node numbers: its scope, and the call site that it is inlined at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope<'m> {
    pub(crate) scope: &'m str,
    pub(crate) call: Option<&'m str>,
}

impl<'m> Nodes<'m> {
    pub(crate) fn of(module: &'m Module<'_>) -> Self {
        let nodes = module.items.iter().filter_map(|item| match item {
            Item::Metadata(node) => node.parts(),
            _ => None,
        });
        Nodes {
            nodes: nodes.collect(),
        }
    }

    /// The frames of a [position](super::Instruction::position), given as its node number: the
    /// innermost function first, then its call site, and so on outwards.
    pub(crate) fn frames(&self, position: &str) -> Vec<Frame<'m>> {
        let mut frames = Vec::new();
        let mut position = self.nodes.get(position).copied();
        // A circular chain would never end.
        while let Some(node) = position.filter(|_| frames.len() < self.nodes.len()) {
            let Some(frame) = self.frame(node) else { break };
            frames.push(frame);
            position = self.follow(node, "inlinedAt");
        }
        frames
    }

    /// The number of the scope in which the outermost [frame](Self::frames) is.
    pub(crate) fn outermost_scope(&self, position: &str) -> Option<&'m str> {
        let mut node = self.nodes.get(position).copied()?;
        for _ in 0..self.nodes.len() {
            match self.follow(node, "inlinedAt") {
                Some(outer) => node = outer,
                None => break,
            }
        }
        match field(node, "scope")? {
            Token::Metadata(number) => Some(number),
            _ => None,
        }
    }

    /// The scopes of all frames of a position, which is a node number: the innermost function
    /// first.
    pub(crate) fn scopes(&self, position: &'m str) -> Vec<Scope<'m>> {
        let outwards = |&position: &&'m str| self.number(position, "inlinedAt");
        let positions = std::iter::successors(Some(position), outwards).take(self.nodes.len());
        let scopes = positions.filter_map(|position| {
            Some(Scope {
                scope: self.number(position, "scope")?,
                call: self.number(position, "inlinedAt"),
            })
        });
        scopes.collect()
    }

    /// A scope and those around it, up to the function.
    pub(crate) fn around(&self, scope: &'m str) -> impl Iterator<Item = &'m str> {
        let outer = |&scope: &&'m str| {
            let node = self.nodes.get(scope)?;
            let is_function = node.contains("!DISubprogram(");
            (!is_function).then(|| self.number(scope, "scope"))?
        };
        std::iter::successors(Some(scope), outer).take(self.nodes.len())
    }

    /// Whether a scope is another one or inside it.
    pub(crate) fn is_within(&self, scope: &'m str, outer: &str) -> bool {
        self.around(scope).any(|around| around == outer)
    }

    /// The number of the node that a field of a node refers to.
    pub(crate) fn number(&self, node: &str, name: &str) -> Option<&'m str> {
        match field(self.nodes.get(node)?, name)? {
            Token::Metadata(number) => Some(number),
            _ => None,
        }
    }

    /// The word or number in a field of a node.
    pub(crate) fn word(&self, node: &str, name: &str) -> Option<&'m str> {
        match field(self.nodes.get(node)?, name)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether a node has a field.
    pub(crate) fn has_field(&self, node: &str, name: &str) -> bool {
        let node = self.nodes.get(node);
        node.is_some_and(|node| field(node, name).is_some())
    }

    /// How many nodes there are: no chain of them is longer.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn frame(&self, position: &'m str) -> Option<Frame<'m>> {
        let mut scope = self.follow(position, "scope")?;
        let file = self.follow(scope, "file")?;
        for _ in 0..self.nodes.len() {
            if scope.contains("!DISubprogram(") {
                break;
            }
            scope = self.follow(scope, "scope")?;
        }
        Some(Frame {
            function: text(scope, "linkageName").or_else(|| text(scope, "name"))?,
            file: text(file, "filename")?,
            folder: text(file, "directory")?,
            line: number(position, "line")?,
            column: number(position, "column").unwrap_or(0),
        })
    }

    /// The node that a field refers to.
    fn follow(&self, node: &'m str, name: &str) -> Option<&'m str> {
        match field(node, name)? {
            Token::Metadata(number) => self.nodes.get(number).copied(),
            _ => None,
        }
    }
}

/// The value of `name: value` in a node.
fn field<'m>(node: &'m str, name: &str) -> Option<Token<'m>> {
    let mut tokens = Lexer::new(node);
    loop {
        let spanned = tokens.next()?;
        if spanned.depth == 1 && spanned.token == Token::Word(name) {
            let mut value = tokens.clone();
            if value.next()?.token == Token::Mark(b':') {
                return Some(value.next()?.token);
            }
        }
    }
}

/// The string value of a field.
pub(crate) fn text<'m>(node: &'m str, name: &str) -> Option<&'m str> {
    match field(node, name)? {
        Token::Text(text) => Some(text),
        _ => None,
    }
}

fn number(node: &str, name: &str) -> Option<u32> {
    match field(node, name)? {
        Token::Word(number) => number.parse().ok(),
        _ => None,
    }
}
