//! Clusters: addresses in the shared memory of other blocks, and the cluster barrier.
//!
//! A `.shared::cluster` address holds the block's rank plus one above the offset; zero there means
//! the executing block. PTX leaves this layout open.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{Address, Convert, IntOp, LaneFn, Op, Reg};
use super::program::Value;
use super::special_registers::Special;
use crate::error::ParseError;
use crate::memory::{BLOCK_BITS, SHARED_WINDOW};
use crate::parse::Operand;

/// `mapa` and `getctarank`
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let shared = form.take("shared::cluster");
    let ty = form.ty()?;
    // Generic addresses have 64 bits.
    if ty != Ty::U64 && !(shared && ty == Ty::U32) {
        return Err(form.unsupported());
    }
    if form.base == "mapa" {
        let [d, a, rank] = form.finish()?;
        let a = b.source(&form, a, ty)?;
        let rank = Reg::R32(b.r32(&form, rank)?);
        let d = b.target(&form, d, ty)?;
        let eval: LaneFn = |[address, rank, ..], _| {
            let block = (rank.min(0xfe) + 1) << BLOCK_BITS;
            (address & !(0xff << BLOCK_BITS) | block, false)
        };
        b.lane(Lane::to(d), eval, &[a, rank]);
    } else {
        let [d, a] = form.finish()?;
        let a = b.source(&form, a, ty)?;
        let own = Reg::R32(b.special(Special::ClusterRank)?);
        let d = Reg::R32(b.target32(&form, d)?);
        let eval: LaneFn = |[address, own, ..], _| {
            let block = address >> BLOCK_BITS & 0xff;
            (if block == 0 { own } else { block - 1 }, false)
        };
        b.lane(Lane::to(d), eval, &[a, own]);
    }
    Ok(())
}

/// `barrier.cluster.arrive[.release|.relaxed][.aligned]` and
/// `barrier.cluster.wait[.acquire][.aligned]`
pub(super) fn barrier<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let waits = match form.take_one_of(&["arrive", "wait"]) {
        Some("arrive") => {
            form.take_one_of(&["release", "relaxed"]);
            false
        }
        Some(_) => {
            form.take("acquire");
            true
        }
        None => return Err(form.unsupported()),
    };
    let aligned = form.take("aligned");
    let [] = form.finish()?;
    b.emit(Op::ClusterBarrier { waits, aligned });
    Ok(())
}

impl<'a> Builder<'a, '_> {
    /// An address operand; if `cluster` is set, it is in `.shared::cluster` and becomes a generic
    /// address.
    pub(super) fn shared_address(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        cluster: bool,
    ) -> Result<Address, ParseError> {
        let Address { row, wide, offset } = self.address(form, operand)?;
        if !cluster {
            return Ok(Address { row, wide, offset });
        }
        let mut low = row;
        if !wide {
            low = self.temp64()?;
            self.emit(Op::Convert {
                op: Convert::U32ToU64,
                d: low,
                a: row,
            });
        }
        let window = self.constant64(Value::Bits(SHARED_WINDOW))?;
        let d = self.temp64()?;
        self.emit(Op::Int64 {
            op: IntOp::Add,
            d,
            a: low,
            b: window,
        });
        Ok(Address {
            row: d,
            wide: true,
            offset,
        })
    }
}
