//! LLVM's textual IR, parsed once: every pass reads and changes this representation, which is
//! printed once.
//!
//! Each part keeps its own text, and printing concatenates the texts: what no pass touches is
//! printed byte for byte as it was read. A part's fields are ranges of its text, so a change
//! creates a new text that is parsed again. Parsing is strict: an unknown instruction, an unclosed
//! bracket or a block without a terminator is an error that quotes the line. Anything not parsed
//! (metadata, types, comments) is kept as text.

mod attributes;
mod call;
mod excerpt;
mod function;
mod global;
mod instruction;
mod lexer;
mod metadata;
mod opcode;
mod parse;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

pub(crate) use attributes::{Attributes, has};
pub(crate) use call::{Call, Callee, ORDERINGS, element, typed, value};
pub(crate) use excerpt::Excerpts;
pub(crate) use function::{Block, Function, Head};
pub(crate) use global::Global;
pub(crate) use instruction::{Instruction, local};
pub(crate) use lexer::{Lexer, Spanned, Token, globals};
pub(crate) use metadata::{Frame, Metadata, Nodes};
pub(crate) use opcode::Opcode;

use crate::error::CudaBuilderError;

/// A module, in textual order.
#[derive(Clone, Debug)]
pub(crate) struct Module<'a> {
    pub(crate) items: Vec<Item<'a>>,
}

/// A top-level item of a module.
#[derive(Clone, Debug)]
pub(crate) enum Item<'a> {
    /// Text that no pass reads: target lines, named types, comdats, module assembly, trailing
    /// comments.
    Text(Cow<'a, str>),
    /// A global variable or an alias.
    Global(Global<'a>),
    /// A function that is defined elsewhere, such as an intrinsic.
    Declaration(Head<'a>),
    /// A function with a body.
    Function(Box<Function<'a>>),
    /// `attributes #7 = { … }`.
    Attributes(Attributes<'a>),
    /// `!7 = …`, `!llvm.dbg.cu = …`.
    Metadata(Metadata<'a>),
}

impl<'a> Module<'a> {
    /// Parses a module printed by one of LLVM's tools.
    ///
    /// # Errors
    /// [`CudaBuilderError::UnexpectedIr`], which quotes the line, for an unknown form.
    pub(crate) fn parse(text: &'a str) -> Result<Self, CudaBuilderError> {
        let module = parse::module(text, true)?;
        debug_assert!(module.to_string() == text, "printing gives the text again");
        Ok(module)
    }

    /// Parses only what is outside functions. Functions have no blocks, but are printed in full.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub(crate) fn outline(text: &'a str) -> Result<Self, CudaBuilderError> {
        parse::module(text, false)
    }

    /// The functions that the module defines.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Function<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(&**function),
            _ => None,
        })
    }

    /// The functions that the module defines, mutably.
    pub(crate) fn functions_mut(&mut self) -> impl Iterator<Item = &mut Function<'a>> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Function(function) => Some(&mut **function),
            _ => None,
        })
    }

    /// All instructions of all functions, mutably.
    pub(crate) fn instructions_mut(&mut self) -> impl Iterator<Item = &mut Instruction<'a>> {
        self.functions_mut().flat_map(Function::instructions_mut)
    }

    /// The functions that are only declared.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = &Head<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Declaration(head) => Some(head),
            _ => None,
        })
    }

    /// The global variables.
    pub(crate) fn globals(&self) -> impl Iterator<Item = &Global<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Global(global) => Some(global),
            _ => None,
        })
    }

    /// The global variables, mutably.
    pub(crate) fn globals_mut(&mut self) -> impl Iterator<Item = &mut Global<'a>> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Global(global) => Some(global),
            _ => None,
        })
    }

    /// The attribute groups by number.
    pub(crate) fn groups(&self) -> HashMap<u32, &Attributes<'a>> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Attributes(group) => Some((group.number(), group)),
                _ => None,
            })
            .collect()
    }

    /// The attribute groups, mutably.
    pub(crate) fn groups_mut(&mut self) -> impl Iterator<Item = &mut Attributes<'a>> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Attributes(group) => Some(group),
            _ => None,
        })
    }

    /// Parses one definition that will replace another.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub(crate) fn item(text: &str) -> Result<Item<'a>, CudaBuilderError> {
        let item = parse::owned(text)?.pop();
        item.ok_or_else(|| unexpected("no definition", text))
    }

    /// Adds a function's declaration, unless the module already has the function.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub(crate) fn declare(&mut self, name: &str, text: &str) -> Result<(), CudaBuilderError> {
        let is_there = (self.declarations().map(Head::name))
            .chain(self.functions().map(Function::name))
            .any(|other| other == name);
        if is_there {
            return Ok(());
        }
        self.append(text)
    }

    /// Appends definitions, declarations or attribute groups, given as LLVM text.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub(crate) fn append(&mut self, text: &str) -> Result<(), CudaBuilderError> {
        self.items.extend(parse::owned(text)?);
        Ok(())
    }
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| item.fmt(f))
    }
}

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Text(text) => f.write_str(text),
            Item::Global(global) => f.write_str(global.source()),
            Item::Declaration(head) => f.write_str(head.source()),
            Item::Function(function) => function.fmt(f),
            Item::Attributes(group) => f.write_str(group.source()),
            Item::Metadata(node) => f.write_str(node.source()),
        }
    }
}

impl fmt::Display for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.head.source())?;
        for block in &self.blocks {
            f.write_str(&block.line)?;
            for instruction in &block.instructions {
                f.write_str(instruction.source())?;
            }
        }
        f.write_str(&self.close)
    }
}

/// The error for an unknown form.
pub(crate) fn unexpected(reason: &str, text: &str) -> CudaBuilderError {
    const SHOWN: usize = 240;
    let end = text.char_indices().nth(SHOWN).map(|(at, _)| at);
    CudaBuilderError::UnexpectedIr {
        reason: reason.to_owned(),
        text: end.map_or_else(|| text.to_owned(), |end| format!("{} …", &text[..end])),
    }
}
