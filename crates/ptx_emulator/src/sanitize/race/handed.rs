//! Values that one lane acquires and hands to the others of its warp.
//!
//! A shuffle or a vote orders no memory. But current hardware executes a warp's loads after the
//! acquire of one of its lanes if they depend on what that lane found, and NVIDIA's own cooperative
//! groups rely on it: such a race between warps is only for information.

use crate::decode::Program;
use crate::decode::op::{Op, WarpKind};
use crate::sanitize::results;
use std::collections::HashSet;

/// The exchanges of a warp whose operand depends on what an atomic or a strong read found.
pub(super) fn exchanges(program: &Program) -> HashSet<u32> {
    let all = results::of(program);
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
