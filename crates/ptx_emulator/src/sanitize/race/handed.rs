//! Values that one lane acquires and passes to the other lanes of its warp.
//!
//! A shuffle or a vote orders no memory accesses. But current hardware executes a warp's loads
//! after the acquire of one of its lanes if they depend on the value that this lane read, and
//! NVIDIA's own cooperative groups rely on it. Such a race between warps is only informational.

use crate::decode::Program;
use crate::decode::op::{Op, WarpKind};
use crate::sanitize::results;
use std::collections::HashSet;

/// The shuffles and votes whose operand depends on the result of an atomic or a strong read.
pub(super) fn exchanges(program: &Program, kernel: u32) -> HashSet<u32> {
    let all = results::of(program, kernel);
    let hands = all.iter().flat_map(|results| {
        let exchanges = results.code().filter(|(_, inst)| match &inst.op {
            Op::Warp(op) => !matches!(
                op.kind,
                WarpKind::ActiveMask { .. } | WarpKind::Elect { .. }
            ),
            _ => false,
        });
        exchanges.filter(|(_, inst)| results.reach(&inst.op))
    });
    hands.map(|(pc, _)| pc).collect()
}
