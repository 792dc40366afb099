//! The writes of results of float arithmetic, which another thread order may round differently.

use crate::decode::op::{AtomicKind, AtomicOp, Convert, Half, Inst, Op, WarpKind};
use crate::decode::{Cell, Program};
use crate::fault::Space;
use std::collections::HashSet;

/// A type of floats in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    F16,
    BF16,
    F32,
    F64,
}

impl Float {
    /// The type that an atomic adds, if it adds floats.
    pub(super) fn added(kind: AtomicKind) -> Option<Self> {
        match kind {
            AtomicKind::AddF32 => Some(Self::F32),
            AtomicKind::AddF64 => Some(Self::F64),
            AtomicKind::AddHalf(Half::F16 | Half::F16x2) => Some(Self::F16),
            AtomicKind::AddHalf(Half::BF16 | Half::BF16x2) => Some(Self::BF16),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Half the distance from 1 to the next number.
    pub(super) fn roundoff(self) -> f64 {
        let bits = match self {
            Self::BF16 => 8,
            Self::F16 => 11,
            Self::F32 => 24,
            Self::F64 => 53,
        };
        0.5_f64.powi(bits)
    }

    /// The smallest normal number: a sum below it may be flushed to zero.
    pub(super) fn smallest(self) -> f64 {
        match self {
            Self::F16 => 0.5_f64.powi(14),
            Self::BF16 | Self::F32 => f32::MIN_POSITIVE.into(),
            Self::F64 => f64::MIN_POSITIVE,
        }
    }

    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half(bits as u16),
            Self::BF16 => f32::from_bits((bits as u32 & 0xffff) << 16).into(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
        }
    }
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 0.5_f64.powi(24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (fraction + 1024.0) * 2.0_f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// The stores, exchanges and compare-and-swaps that write such values.
pub(super) fn writes(program: &Program) -> HashSet<u32> {
    let mut spaces = Spaces::default();
    loop {
        let before = spaces;
        let functions = program.functions.iter();
        let found: HashSet<u32> = functions
            .flat_map(|function| {
                let start = function.start.unwrap_or(function.end);
                in_function(program, start..function.end, &mut spaces)
            })
            .collect();
        if spaces == before {
            return found;
        }
    }
}

/// The spaces that may hold such values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Spaces {
    global: bool,
    shared: bool,
    local: bool,
}

impl Spaces {
    fn each(&mut self, space: Space) -> Vec<&mut bool> {
        match space {
            Space::Global => vec![&mut self.global],
            Space::Shared => vec![&mut self.shared],
            Space::Local | Space::Param => vec![&mut self.local],
            Space::Generic => vec![&mut self.global, &mut self.shared, &mut self.local],
            Space::Const => Vec::new(),
        }
    }

    fn add(&mut self, space: Space, holds: bool) {
        self.each(space)
            .into_iter()
            .for_each(|known| *known |= holds);
    }

    fn hold(&mut self, space: Space) -> bool {
        self.each(space).into_iter().any(|known| *known)
    }
}

fn in_function(program: &Program, body: std::ops::Range<u32>, spaces: &mut Spaces) -> HashSet<u32> {
    let mut cells: HashSet<Cell> = HashSet::new();
    let mut found = HashSet::new();
    loop {
        let before = (cells.len(), *spaces);
        for pc in body.clone() {
            let Inst { op, .. } = &program.code[pc as usize];
            let writes = match op {
                Op::Store(t) => {
                    let mut elements = (0..4).filter_map(|element| t.cell(element));
                    let holds = elements.any(|cell| cells.contains(&cell));
                    spaces.add(t.space, holds);
                    holds
                }
                Op::Atomic(atomic) => {
                    let AtomicOp {
                        kind, space, b, c, ..
                    } = **atomic;
                    let value = c.unwrap_or(b).into();
                    let holds = match kind {
                        AtomicKind::Exchange | AtomicKind::CompareAndSwap => cells.contains(&value),
                        _ => Float::added(kind).is_some(),
                    };
                    spaces.add(space, holds);
                    holds
                }
                _ => false,
            };
            if writes {
                found.insert(pc);
            }
            if computes(op) || passes(op, &cells, spaces) {
                op.writes(|cell| {
                    cells.insert(cell);
                });
            }
        }
        if before == (cells.len(), *spaces) {
            return found;
        }
    }
}

/// Whether the result is rounded.
fn computes(op: &Op) -> bool {
    match op {
        Op::Atomic(atomic) => Float::added(atomic.kind).is_some(),
        Op::Float32 { .. }
        | Op::Float64 { .. }
        | Op::Fma32 { .. }
        | Op::Fma64 { .. }
        | Op::FloatFn32 { .. }
        | Op::FloatFn64 { .. }
        | Op::Matrix(_) => true,
        _ => false,
    }
}

/// Whether the result may be such a value, passed on from an operand or from memory.
fn passes(op: &Op, cells: &HashSet<Cell>, spaces: &mut Spaces) -> bool {
    let moves = match op {
        Op::Load(t) => return spaces.hold(t.space),
        Op::Convert { op, .. } => matches!(op, Convert::F32ToF64 | Convert::F64ToF32),
        Op::Warp(op) => matches!(op.kind, WarpKind::Shuffle { .. }),
        Op::Mov32 { .. }
        | Op::Mov64 { .. }
        | Op::Select32 { .. }
        | Op::Select64 { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Flush { .. }
        | Op::Saturate32 { .. }
        | Op::Lane(_) => true,
        _ => false,
    };
    let mut reads = false;
    op.reads(|cell| reads |= cells.contains(&cell));
    moves && reads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_their_values() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960464477539063e-8),
        ] {
            assert_eq!(Float::F16.value(bits), value);
        }
        assert!(Float::F16.value(0x7c00).is_infinite() && Float::F16.value(0x7e00).is_nan());
        assert_eq!(Float::BF16.value(0x3f80), 1.0);
    }
}
