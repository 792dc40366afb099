//! Values modulo 32: proves that `index / 32` and `index < 64` are warp-uniform.
//!
//! Assumes that the block is one-dimensional and consists of whole warps.

use super::level::Level;
use crate::ir::module::{Instruction, Opcode, local, value};

/// What is known about a value modulo 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Nothing.
    Any,
    /// It is a multiple of 32.
    Warps,
    /// The lane's number plus a warp-uniform multiple of 32.
    Lanes,
}

/// An operand of a binary instruction.
#[derive(Clone, Copy)]
pub(super) struct Term {
    /// Its level, and its value modulo 32.
    pub(super) level: Level,
    pub(super) spread: Spread,
    /// Its value, if it is a constant.
    constant: Option<i64>,
}

impl Term {
    /// The operands of a binary instruction; `known` has level and spread of those that are not
    /// constant, in order.
    pub(super) fn pair(
        instruction: &Instruction<'_>,
        known: &[(Level, Spread)],
    ) -> Option<[Term; 2]> {
        let mut known = known.iter();
        let mut terms = instruction.pieces().map(|piece| {
            let text = value(piece);
            if local(text).is_some() {
                let &(level, spread) = known.next()?;
                return Some(Term {
                    level,
                    spread,
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

    /// Whether it is a warp-uniform multiple of 32.
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

/// Whether the result is warp-uniform although the operands are not.
pub(super) fn is_shared(instruction: &Instruction<'_>, [one, other]: [Term; 2]) -> bool {
    let lanes = |term: Term| term.spread == Spread::Lanes;
    match instruction.opcode() {
        Opcode::LShr => lanes(one) && other.constant.is_some_and(|bits| bits >= 5),
        Opcode::UDiv | Opcode::And => lanes(one) && other.is_shared(),
        Opcode::ICmp => {
            let comparison = instruction.operands().trim_start();
            let comparison = comparison.trim_start_matches("samesign ");
            // `a < b` and `a >= b` cannot distinguish 32·n from 32·n + 31; nor can `a <= b` and `a
            // > b`, with b + 1 for b.
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
