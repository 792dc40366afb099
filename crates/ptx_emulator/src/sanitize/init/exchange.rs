//! Undefined values in instructions through which lanes talk to each other.

use super::follow::Step;
use super::registers::Origin;
use crate::decode::Cell;
use crate::decode::op::{MatrixOp, Op, Row, WarpKind, WarpOp};
use crate::exec::{Frame, groups, lanes, shuffle_sources};

impl Step<'_, '_> {
    /// A shuffle, vote, match or reduction by the lanes of `mask`.
    pub(super) fn exchange(&mut self, op: &WarpOp, mask: u32, frame: &Frame<'_>) {
        match op.kind {
            WarpKind::Shuffle {
                mode,
                d,
                p,
                a,
                b,
                c,
            } => {
                let (sources, _) = shuffle_sources(mode, frame.r32(b), frame.r32(c));
                let a = Cell::R32(a);
                let value = |lane: usize| {
                    let from = sources[lane] as usize;
                    (lane, self.registers.get(&self.base, a, from))
                };
                let values: Vec<_> = lanes(mask).map(value).collect();
                self.registers.clear(&self.base, Cell::R32(d), mask);
                for (lane, value) in values {
                    if let Some((bits, origin)) = value {
                        self.registers
                            .set(&self.base, Cell::R32(d), lane, bits, origin);
                    }
                }
                if let Some(p) = p {
                    self.registers.clear(&self.base, Cell::Predicate(p), mask);
                }
            }
            WarpKind::VoteAll { p, .. }
            | WarpKind::VoteAny { p, .. }
            | WarpKind::VoteUniform { p, .. }
            | WarpKind::Ballot { p, .. } => self.combine(op, p.into(), mask, frame),
            WarpKind::MatchAny { a, .. } | WarpKind::MatchAll { a, .. } => {
                self.combine(op, a.into(), mask, frame);
            }
            WarpKind::Reduce { a, .. } => self.combine(op, Cell::R32(a), mask, frame),
            WarpKind::ActiveMask { .. } | WarpKind::Elect { .. } => {
                self.results(op, |step, d| step.registers.clear(&step.base, d, mask));
            }
        }
    }

    /// The result of a group is made of the operands of all its lanes. A ballot has a bit for each.
    fn combine(&mut self, op: &WarpOp, operand: Cell, mask: u32, frame: &Frame<'_>) {
        groups(frame.r32(op.members), mask, |group| {
            let undefined = self.registers.lanes(&self.base, operand) & group;
            let first = undefined.trailing_zeros() as usize;
            let origin = self.registers.get(&self.base, operand, first & 31);
            let bits = match op.kind {
                WarpKind::Ballot { .. } => u64::from(undefined),
                _ => u64::MAX,
            };
            self.results(op, |step, d| {
                step.registers.clear(&step.base, d, group);
                if let (true, Some((_, origin))) = (undefined != 0, origin) {
                    lanes(group)
                        .for_each(|lane| step.registers.set(&step.base, d, lane, bits, origin));
                }
            });
        });
    }

    fn results(&mut self, op: &WarpOp, mut each: impl FnMut(&mut Self, Cell)) {
        let mut results = Vec::new();
        op.writes(|d| results.push(d));
        results.into_iter().for_each(|d| each(self, d));
    }

    /// A matrix instruction. The layout is that of `mma.m16n8k8`: an element of the result needs a row of the left
    /// operand and a column of the right one.
    pub(super) fn multiply(&mut self, op: &MatrixOp, mask: u32) {
        let (d, a, b, c) = match op {
            MatrixOp::MmaTf32 { d, a, b, c } => (d, a, b, c),
            // What comes from memory is seen when it is accessed.
            MatrixOp::LoadMatrix { d, .. } => {
                let rows = d.iter().map(|&row| Cell::R32(row));
                return rows.for_each(|d| self.registers.clear(&self.base, d, mask));
            }
        };
        let undefined = |row: Row, lane: usize| {
            let value = self.registers.get(&self.base, Cell::R32(row), lane);
            value.map(|(_, origin)| origin)
        };
        let mut results: Vec<(Cell, usize, Origin)> = Vec::new();
        for (register, (&d, &c)) in d.iter().zip(c).enumerate() {
            for lane in lanes(mask) {
                let left = 4 * (lane / 4)..4 * (lane / 4) + 4;
                let left = left.flat_map(|from| {
                    [a[register / 2], a[register / 2 + 2]].map(|row| undefined(row, from))
                });
                let column = 2 * (lane % 4) + register % 2;
                let right =
                    (4 * column..4 * column + 4).flat_map(|from| b.map(|row| undefined(row, from)));
                let mut all = std::iter::once(undefined(c, lane)).chain(left).chain(right);
                if let Some(origin) = all.find_map(|origin| origin) {
                    results.push((Cell::R32(d), lane, origin));
                }
            }
        }
        d.iter()
            .for_each(|&row| self.registers.clear(&self.base, Cell::R32(row), mask));
        for (d, lane, origin) in results {
            self.registers.set(&self.base, d, lane, u64::MAX, origin);
        }
    }
}
