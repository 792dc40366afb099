//! Undefined values in instructions that exchange data between lanes.

use super::follow::Step;
use super::registers::Origin;
use crate::decode::Cell;
use crate::decode::fragment::Fragment;
use crate::decode::op::{MatrixKind, MatrixOp, WarpKind, WarpOp};
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

    /// A group's result depends on the operands of all its lanes. A ballot has one bit per lane.
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

    /// A matrix product: an element depends on a row of the left operand and a column of the right
    /// one.
    pub(super) fn multiply(&mut self, op: &MatrixOp, mask: u32) {
        let mut results: Vec<(Cell, usize, u64, Origin)> = Vec::new();
        if let MatrixKind::Multiply(multiply) = &op.kind {
            let [a, b, c, d] = multiply.fragments(op);
            let (rows, columns, sums) =
                (self.undefined(&a), self.undefined(&b), self.undefined(&c));
            d.for_each(|register, shift, lane, row, column| {
                let in_row = rows.iter().find(|&&((at, _), _)| at == row);
                let in_column = columns.iter().find(|&&((_, at), _)| at == column);
                let in_sum = sums.iter().find(|&&(at, _)| at == (row, column));
                if let Some(&(_, origin)) = in_row.or(in_column).or(in_sum) {
                    let bits = d.element.mask() << shift;
                    results.push((register.into(), lane, bits, origin));
                }
            });
        } else if let MatrixKind::Transpose = op.kind {
            let lanes_of = |lane| self.registers.get(&self.base, op.sources[0].into(), lane);
            if let Some((_, origin)) = lanes(mask).find_map(lanes_of) {
                let all = lanes(mask).map(|lane| (op.targets[0].into(), lane, u64::MAX, origin));
                results.extend(all);
            }
        }
        // Values from memory are handled at the access.
        for &d in &op.targets {
            self.registers.clear(&self.base, d.into(), mask);
        }
        for (d, lane, bits, origin) in results {
            self.registers.set(&self.base, d, lane, bits, origin);
        }
    }

    /// Row and column of the elements that are not fully defined.
    fn undefined(&self, fragment: &Fragment<'_>) -> Vec<((usize, usize), Origin)> {
        let mask = fragment.element.mask();
        let mut found = Vec::new();
        fragment.for_each(|register, shift, lane, row, column| {
            let value = self.registers.get(&self.base, register.into(), lane);
            if let Some((bits, origin)) = value
                && bits >> shift & mask != 0
            {
                found.push(((row, column), origin));
            }
        });
        found
    }
}
