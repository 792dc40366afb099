//! Warp-level exchanges between a warp's operations on an `mbarrier` object and the object's end.
//!
//! `mbarrier.inval` must come after all operations on the object. In NVIDIA's headers a warp
//! executes `match.any.sync` before one of its lanes decrements a count for the whole warp, and the
//! lane that brings it to zero invalidates the object. The exchange orders no data, but a lane that
//! has arrived at it has completed its operations on the object.

use super::lane_access::{Gather, LaneAccess};
use super::record::Record;
use crate::decode::op::{MbarrierKind, Op, WarpKind};

/// Whether lanes wait for each other at an instruction.
pub(super) fn is_exchange(op: &Op) -> bool {
    matches!(op, Op::Warp(op) if !matches!(op.kind, WarpKind::ActiveMask { .. }))
}

/// Whether an exchange orders an operation of a lane on a barrier object before the object's end.
pub(super) fn order(current: &LaneAccess<'_>, record: &Record, lane: usize) -> bool {
    if current.gathers.is_empty() {
        return false;
    }
    let kind = |pc: u32| match &current.program.code[pc as usize].op {
        Op::Mbarrier(op) => Some(&op.kind),
        _ => None,
    };
    let is_end = matches!(kind(current.now.pc), Some(MbarrierKind::Invalidate));
    let is_use = kind(record.pc())
        .is_some_and(|kind| !matches!(kind, MbarrierKind::Invalidate | MbarrierKind::Init { .. }));
    is_end
        && is_use
        && current
            .gathers
            .iter()
            .any(|gather| follows(current, gather, record, lane))
}

/// Whether the current access comes after a gather that includes the recorded access's lane.
fn follows(current: &LaneAccess<'_>, gather: &Gather, record: &Record, lane: usize) -> bool {
    if gather.warp != record.warp || gather.time < record.time || gather.lanes >> lane & 1 == 0 {
        return false;
    }
    let own = record.warp == current.now.warp && gather.lanes >> current.lane & 1 != 0;
    let met = Record::new(
        gather.time + 1,
        gather.warp,
        gather.lanes,
        record.pc(),
        true,
    );
    own || current.now.follows(&met) || current.unordered(&met, met.lanes) != met.lanes
}
