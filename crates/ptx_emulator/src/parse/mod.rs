//! PTX text to a syntax tree that borrows from it.
mod ast;
mod function;
mod lexer;
mod location;
mod module;
mod operand;

pub(crate) use ast::*;
pub(crate) use location::Locations;
pub(crate) use module::parse;

/// A longer text is refused, so that a hostile one cannot take all memory.
const MAX_SOURCE_BYTES: usize = 16 << 20;
/// Deeper nesting of braces is refused.
const MAX_DEPTH: usize = 64;
