//! Rules and lengths as trees.
//!
//! The host's check (`host.rs`), the device's assumption and the record in the PTX are
//! generated from one tree, so that they cannot differ. `cuda_std::launch::RECORD_SUFFIX` documents
//! the grammar; only the host evaluates what is outside it, as the user wrote it.

use proc_macro2::{Ident, Span, TokenStream};
use syn::{BinOp, Expr, Type};

use super::parameter::Part;

/// The words that stand for the launch's shape.
pub(super) const WORDS: [&str; 3] = ["grid", "block", "shared_bytes"];

pub(super) enum Tree {
    /// As written, and its text in the record.
    Literal(TokenStream, String),
    /// What each side evaluates, and its text.
    Constant(Expr, String),
    /// A parameter that is passed by value, and where the rule names it.
    Value(usize, Span),
    /// The length, rows or columns of a parameter.
    Extent(usize, Part),
    /// `block.x`.
    Axis(Dimensions, Ident),
    /// `grid.blocks()`, `block.threads()`.
    Volume(Dimensions),
    SharedBytes,
    Cast(Type, Box<Tree>),
    /// A launch for which the result does not exist is refused.
    Arithmetic(Operator, [Box<Tree>; 2], Span),
    /// `a.checked_mul(b)`.
    Checked(Operator, [Box<Tree>; 2], Span),
    Some(Box<Tree>),
    Compare(BinOp, [Box<Tree>; 2]),
    And([Box<Tree>; 2]),
    Or([Box<Tree>; 2]),
    Not(Box<Tree>),
    /// `x.is_empty()`.
    Empty(usize),
    /// `x.is_aligned_to(16)`.
    Aligned(usize, Box<Tree>),
    /// `a.is_multiple_of(b)`.
    Multiple([Box<Tree>; 2], Span),
    IsSome(Box<Tree>),
    /// Outside the grammar.
    Host(Expr),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dimensions {
    Grid,
    Block,
}

impl Dimensions {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Block => "block",
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
}

impl Operator {
    pub(super) fn of(op: &BinOp) -> Option<Self> {
        Some(match op {
            BinOp::Add(_) => Self::Add,
            BinOp::Sub(_) => Self::Sub,
            BinOp::Mul(_) => Self::Mul,
            BinOp::Div(_) => Self::Div,
            BinOp::Rem(_) => Self::Rem,
            BinOp::Shl(_) => Self::Shl,
            BinOp::Shr(_) => Self::Shr,
            _ => return None,
        })
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
        }
    }

    pub(super) fn function(self) -> &'static str {
        match self {
            Self::Add => "checked_add",
            Self::Sub => "checked_sub",
            Self::Mul => "checked_mul",
            Self::Div => "checked_div",
            Self::Rem => "checked_rem",
            Self::Shl => "checked_shl",
            Self::Shr => "checked_shr",
        }
    }
}

impl Tree {
    /// The parameters that it depends on, without those of the host's own part.
    pub(super) fn parameters(&self) -> Vec<usize> {
        let of_all = |trees: &[Box<Tree>]| {
            let of_each = trees.iter().flat_map(|tree| tree.parameters());
            of_each.collect()
        };
        match self {
            Tree::Value(index, _) | Tree::Extent(index, _) | Tree::Empty(index) => vec![*index],
            Tree::Aligned(index, tree) => [vec![*index], tree.parameters()].concat(),
            Tree::Cast(_, tree) | Tree::Some(tree) | Tree::Not(tree) | Tree::IsSome(tree) => {
                tree.parameters()
            }
            Tree::Arithmetic(_, both, _)
            | Tree::Checked(_, both, _)
            | Tree::Compare(_, both)
            | Tree::And(both)
            | Tree::Or(both)
            | Tree::Multiple(both, _) => of_all(both),
            Tree::Literal(..)
            | Tree::Constant(..)
            | Tree::Axis(..)
            | Tree::Volume(_)
            | Tree::SharedBytes
            | Tree::Host(..) => Vec::new(),
        }
    }

    /// The parts that only the host evaluates.
    pub(super) fn hosts(&self) -> Vec<&Expr> {
        match self {
            Tree::Host(expression) => vec![expression],
            Tree::And(both) => both.iter().flat_map(|tree| tree.hosts()).collect(),
            _ => Vec::new(),
        }
    }
}
