//! Parses PTX text into a syntax tree that borrows from it.
mod ast;
mod constant;
mod function;
mod lexer;
mod location;
mod module;
mod opcodes;
mod operand;
mod skip;
mod variable;

pub(crate) use ast::*;
pub(crate) use location::Locations;
pub(crate) use module::parse;
pub(crate) use opcodes::Family;
pub use opcodes::OPCODES;

/// Longer texts are refused, so that hostile input cannot exhaust memory.
const MAX_SOURCE_BYTES: usize = 128 << 20;
/// Limit for statements, operands and initial values: each takes at most 64 bytes of the tree; a
/// statement counts as three and takes at most 192.
const MAX_NODES: u32 = 1 << 25;
/// Limit for nested braces.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::size_of;

    #[test]
    fn the_memory_of_a_tree_is_limited() {
        assert!(size_of::<Operand<'_>>() <= 64 && size_of::<(u64, Initial<'_>)>() <= 64);
        assert!(size_of::<Statement<'_>>() <= 3 * 64);
        let mut lexer = lexer::Lexer::new("");
        lexer.grow(MAX_NODES).expect("as many as are allowed");
        assert!(lexer.grow(1).is_err());
    }

    #[test]
    fn every_node_is_counted() {
        let text = ".version 8.0 .target sm_80 .address_size 64
            .global .b8 a[] = {1, 2, 3};
            .entry k() { .reg .b32 %r<2>; mov.b32 %r0, {1, 2}; }";
        let mut lexer = lexer::Lexer::new(text);
        module::read(&mut lexer).expect("PTX");
        // Three values, three statements (including the block) and four operands.
        assert_eq!(lexer.nodes(), 3 + 3 * 3 + 4);
    }
}
