//! Numbers by their remainder by 32: what makes `index / 32` and `index < 64` the same in all lanes
//! of a warp.
//!
//! Taken on trust here: the block has one dimension, and whole warps.

use super::level::{Fact, Level};
use crate::ir::module::{Instruction, Opcode, local, value};

/// What is known of a number modulo 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Nothing.
    Any,
    /// It is a multiple of 32.
    Warps,
    /// It is the lane's number more than a multiple of 32 that the lanes of a warp share.
    Lanes,
}

/// An operand of two.
#[derive(Clone, Copy)]
pub(super) struct Term {
    /// Which threads have the same, and modulo 32.
    pub(super) level: Level,
    pub(super) spread: Spread,
    /// The number, if it is a constant.
    constant: Option<i64>,
}

impl Term {
    /// The operands of an instruction with two, of which `facts` are those of the values among
    /// them, in order.
    pub(super) fn pair(instruction: &Instruction<'_>, facts: &[Fact]) -> Option<[Term; 2]> {
        let mut facts = facts.iter();
        let mut terms = instruction.pieces().map(|piece| {
            let text = value(piece);
            if local(text).is_some() {
                let fact = facts.next()?;
                return Some(Term {
                    level: fact.level,
                    spread: fact.spread,
                    constant: None,
                });
            }
            let constant = text.parse().ok();
            let is_multiple = constant.is_some_and(|number: i64| number % 32 == 0);
            Some(Term {
                level: Level::Block,
                spread: if is_multiple {
                    Spread::Warps
                } else {
                    Spread::Any
                },
                constant,
            })
        });
        Some([terms.next()??, terms.next()??])
    }

    /// Whether it is a multiple of 32 that the lanes of a warp share.
    fn is_shared(self) -> bool {
        self.spread == Spread::Warps && self.level <= Level::Warp
    }
}

/// The spread of a special register.
pub(super) fn of_register(register: Option<&str>) -> Spread {
    match register {
        Some("llvm.nvvm.read.ptx.sreg.tid.x") => Spread::Lanes,
        Some("llvm.nvvm.read.ptx.sreg.ntid.x") => Spread::Warps,
        _ => Spread::Any,
    }
}

/// The spread of a result.
pub(super) fn spread(opcode: Opcode, [one, other]: [Term; 2]) -> Spread {
    use Spread::{Any, Lanes, Warps};
    match (opcode, one.spread, other.spread) {
        (Opcode::Mul, Warps, _) | (Opcode::Mul | Opcode::And, _, Warps) => Warps,
        (Opcode::Shl, ..) if other.constant.is_some_and(|bits| bits >= 5) => Warps,
        (Opcode::Shl | Opcode::And, Warps, _) => Warps,
        (Opcode::Add | Opcode::Sub | Opcode::Or | Opcode::URem, Warps, Warps) => Warps,
        (Opcode::Add | Opcode::Sub, Lanes, Warps) if other.is_shared() => Lanes,
        (Opcode::Add, Warps, Lanes) if one.is_shared() => Lanes,
        _ => Any,
    }
}

/// Whether the lanes of a warp have the same result though they have different operands.
pub(super) fn is_shared(instruction: &Instruction<'_>, [one, other]: [Term; 2]) -> bool {
    let lanes = |term: Term| term.spread == Spread::Lanes;
    match instruction.opcode() {
        Opcode::LShr => lanes(one) && other.constant.is_some_and(|bits| bits >= 5),
        Opcode::UDiv | Opcode::And => lanes(one) && other.is_shared(),
        Opcode::ICmp => {
            let comparison = instruction.operands().trim_start();
            let comparison = comparison.trim_start_matches("samesign ");
            // `a < b` and `a >= b` do not tell 32·n from 32·n + 31; nor do they with b + 1 in the
            // place of `<= b` and `> b`.
            let next_is_multiple =
                |term: Term| term.constant.is_some_and(|number| (number + 1) % 32 == 0);
            let (below, above) = match comparison.split(' ').next() {
                Some("ult" | "uge" | "slt" | "sge") => (true, false),
                Some("ule" | "ugt" | "sle" | "sgt") => (false, true),
                _ => (false, false),
            };
            (below && lanes(one) && other.is_shared())
                || (above && one.is_shared() && lanes(other))
                || (above && lanes(one) && next_is_multiple(other))
                || (below && next_is_multiple(one) && lanes(other))
        }
        _ => false,
    }
}
