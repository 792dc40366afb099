//! What matrix instructions load and store.

use super::Init;
use super::follow::Step;
use super::report::Use;
use super::transfer::{low_bits, spread_bytes, target};
use crate::decode::op::{MatrixOp, Reg};
use crate::exec::{Seen, lanes};
use crate::sanitize::{Context, Ledger};

impl Init {
    /// `ldmatrix`: the lanes of the access hold rows of 8 elements, lane `8m + r` row `r` of matrix
    /// `m`.
    pub(super) fn load_matrix(
        &mut self,
        context: &Context<'_>,
        pc: u32,
        seen: &Seen<'_>,
        op: &MatrixOp,
        transposed: bool,
    ) {
        for (matrix, &register) in op.targets.iter().enumerate() {
            for lane in 0..32 {
                let (major, minor) = (lane / 4, 2 * (lane % 4));
                let halves = if transposed {
                    [(minor, major), (minor + 1, major)]
                } else {
                    [(major, minor), (major, minor + 1)]
                };
                let missing = halves.map(|(row, column)| {
                    self.missing(context, seen, 8 * matrix + row) >> (2 * column) & 3
                });
                let bytes = missing[0] | missing[1] << 2;
                if bytes != 0 {
                    let half = usize::from(missing[0] == 0);
                    let (row, column) = halves[half];
                    let bytes_of_row = missing[half] << (2 * column);
                    let origin = self.origin(context, pc, seen, 8 * matrix + row, bytes_of_row);
                    self.set(context, register.into(), lane, spread_bytes(bytes), origin);
                }
            }
        }
    }

    /// `wmma.load`: the layout is unspecified, so an element may be in any of the lane's registers.
    pub(super) fn load_tile(
        &mut self,
        context: &Context<'_>,
        pc: u32,
        seen: &Seen<'_>,
        op: &MatrixOp,
    ) {
        for lane in lanes(seen.lanes) {
            let missing = self.missing(context, seen, lane);
            if missing != 0 {
                let origin = self.origin(context, pc, seen, lane, missing);
                for &d in &op.targets {
                    self.set(context, d.into(), lane, u64::MAX, origin);
                }
            }
        }
    }

    /// `wmma.store` and `stmatrix`: an undefined register in any lane makes everything stored
    /// undefined.
    pub(super) fn store_matrix(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        op: &MatrixOp,
    ) {
        let turn = &context.turn;
        let private = self.is_private(seen.region);
        let registers = &mut self.blocks[turn.slot].warps[turn.warp as usize].registers;
        let lane_of = |lane| {
            let value = |&a: &Reg| registers.get(&turn.base, a.into(), lane);
            op.sources
                .iter()
                .find_map(value)
                .map(|(_, origin)| (lane, origin))
        };
        let undefined = (0..32).find_map(lane_of);
        if let (Some((lane, origin)), false) = (undefined, private) {
            let target = target(seen, lane, 0, seen.size);
            let mut step = Step::new(context, ledger, registers, pc);
            step.report(lane, Use::Stored(target), origin);
        }
        let bytes = match undefined {
            Some(_) if private => low_bits(seen.size),
            _ => 0,
        };
        for lane in lanes(seen.lanes) {
            self.define(context, seen, lane, bytes);
            if let (Some((_, origin)), true) = (undefined, private) {
                self.keep(context, seen, lane, (0, bytes), origin);
            }
        }
    }
}
