//! The features of a program that the race detector must track; most programs use few.

use super::messages;
use crate::decode::op::{MbarrierKind, Op, Order};
use crate::exec::Request;

/// Synchronisation used by a kernel, besides barriers of the block and the warp.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    /// Barriers with a thread count.
    pub(super) counts: bool,
    /// Release and acquire, or fences.
    pub(super) messages: bool,
    pub(super) copies: bool,
    /// Barrier objects in shared memory.
    pub(super) objects: bool,
    pub(super) volatile: bool,
    /// Accesses and fences of block scope.
    pub(super) narrow: bool,
    /// Reads through the non-coherent path.
    pub(super) constant: bool,
    /// Barrier objects that are destroyed.
    pub(super) destroys: bool,
}

impl Uses {
    pub(super) fn of(request: &Request<'_>) -> Self {
        let program = request.program;
        let mut uses = Self::default();
        for (_, inst) in program.reachable_code(request.kernel.function) {
            uses.constant |= reads_constant(&inst.op);
            match &inst.op {
                Op::Load(t) | Op::Store(t) => {
                    uses.messages |= t.order.acquires() || t.order.releases();
                    uses.volatile |= t.order == Order::Volatile;
                    uses.narrow |= t.order != Order::Weak && !messages::is_wide(t.scope);
                }
                Op::Atomic(atomic) => {
                    uses.messages |= atomic.order != Order::Relaxed;
                    uses.narrow |= !messages::is_wide(atomic.scope);
                }
                Op::Fence { scope, .. } => {
                    uses.messages = true;
                    uses.narrow |= !messages::is_wide(*scope);
                }
                Op::Barrier(barrier) => uses.counts |= barrier.count.is_some(),
                Op::ClusterBarrier { .. } => uses.counts = true,
                Op::CopyAsync(_) => uses.copies = true,
                Op::Mbarrier(op) => {
                    uses.objects = true;
                    uses.destroys |= matches!(op.kind, MbarrierKind::Invalidate);
                }
                _ => {}
            }
        }
        uses
    }
}

/// Whether an instruction reads what must not change during the launch.
pub(super) fn reads_constant(op: &Op) -> bool {
    match op {
        Op::Load(t) => t.constant,
        Op::Texture(_) => true,
        _ => false,
    }
}
