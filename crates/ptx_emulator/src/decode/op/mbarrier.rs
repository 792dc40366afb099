//! Operations on barrier objects in shared memory.

use super::{Address, Order, Reg, Row};
use crate::fault::Space;

/// An operation on the barrier object at a shared-memory address.
pub(crate) struct MbarrierOp {
    pub(crate) kind: MbarrierKind,
    pub(crate) space: Space,
    pub(crate) order: Order,
    pub(crate) address: Address,
    /// Bit mask of the cluster's blocks whose objects are meant; if absent, the block of the
    /// address.
    pub(crate) blocks: Option<Row>,
}

pub(crate) enum MbarrierKind {
    Init {
        count: Row,
    },
    Invalidate,
    /// Expects bytes of asynchronous copies, or reports that they have arrived.
    Expect {
        bytes: Row,
    },
    Complete {
        bytes: Row,
    },
    /// Returns the state before. `count` is 1 if absent; `bytes` are expected first.
    Arrive {
        state: Option<Row>,
        count: Option<Row>,
        bytes: Option<Row>,
        /// Expect one arrival fewer in later phases.
        drops: bool,
        /// The arrival must not complete the phase.
        open: bool,
    },
    /// Whether the phase of a state, or of a parity, is complete.
    Test {
        p: Row,
        state: Reg,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the copies are complete; without `.noinc` this adds
    /// one expected arrival.
    Copies {
        counted: bool,
    },
}

/// The low bits of a state: the arrivals still pending.
pub(crate) const COUNT_BITS: u32 = 20;
