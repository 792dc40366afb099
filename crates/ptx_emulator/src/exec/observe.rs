//! The observer interface between the interpreter and everything that watches a launch.
//!
//! The interpreter is generic over its [`Observer`], so that an unobserved launch is compiled
//! without these calls. All observers share one other copy, with virtual calls, because the loop
//! takes long to compile. An observer never changes what the program does.

use super::frame::{Frame, Row64};
use super::memory::{Memory, Part, Region};
use super::split::Base;
use crate::decode::Program;
use crate::fault::Access;
use std::ops::Range;

/// Watches a launch. Every method but the first is optional.
///
/// A turn is a run of consecutive instructions of one split; [`turn`](Self::turn) names the split,
/// and the calls after it belong to that split until the next turn.
pub(crate) trait Observer: Send {
    /// This observer as a trait object.
    fn as_dyn(&mut self) -> &mut dyn Observer;

    /// Whether anything observes: if not, work done only for observers is omitted.
    fn watches(&self) -> bool {
        true
    }

    /// A block starts. `slot` identifies it until another block starts there; a worker has few
    /// slots.
    fn block(&mut self, _slot: usize, _number: u64, _index: [u32; 3]) {}

    /// Lanes enter a function (or the kernel). All registers of the frame and its local memory are
    /// uninitialised, except parameters, which [`copies_local`](Self::copies_local) reports next.
    fn enters(&mut self, _turn: &Turn, _mask: u32) {}

    /// A call copies a parameter or result within a warp's local memory: byte offsets and a size in
    /// bytes.
    fn copies_local(&mut self, _turn: &Turn, _from: u32, _to: u32, _size: u32, _mask: u32) {}

    /// A driver function writes its result: a byte offset in a warp's local memory and a size.
    fn writes_local(&mut self, _turn: &Turn, _to: u32, _size: u32, _mask: u32) {}

    /// A split of a warp starts its turn.
    fn turn(&mut self, _turn: &Turn) {}

    /// The lanes of `mask` are about to execute an instruction; `active` also includes lanes of the
    /// split that its guard disables.
    fn step(&mut self, _program: &Program, _pc: u32, _mask: u32, _active: u32, _frame: &Frame<'_>) {
    }

    /// Lanes arrive at a warp-level instruction and wait there for its other members: it executes
    /// later.
    fn waits(&mut self, _pc: u32, _mask: u32) {}

    /// An instruction is skipped, because its guard is false in every lane of the split.
    fn skip(&mut self, _pc: u32, _active: u32, _frame: &Frame<'_>) {}

    /// The instruction is about to access memory. An instruction makes one call per region that its
    /// lanes access.
    fn access(&mut self, _pc: u32, _seen: &Seen<'_>, _frame: &Frame<'_>, _memory: &Memory<'_>) {}

    /// A lane allocates a heap chunk whose memory may have been used before: the heap's address,
    /// and offsets in it.
    fn takes(&mut self, _heap: u64, _chunk: Range<u64>) {}

    /// An instruction ends the launch with a fault. It may be superseded by a later fault of a
    /// block that started earlier.
    fn faults(&mut self) {}

    /// Lanes synchronised at a `bar.warp.sync`.
    fn warp_barrier(&mut self, _slot: usize, _warp: u32, _mask: u32) {}

    /// Lanes exit while others wait for them at an instruction that they have passed.
    fn leaves(&mut self, _left: &Left) {}

    /// Lanes of a shuffle read from a lane that does not execute it: their results are undefined.
    fn stray(&mut self, _pc: u32, _stray: &Stray) {}

    /// Lanes divided an integer by zero: their results are undefined.
    fn divides_by_zero(&mut self, _pc: u32, _lanes: u32) {}

    /// Lanes arrive at a barrier without waiting: `bar.arrive`, `barrier.cluster.arrive`.
    fn arrives(&mut self, _slot: usize, _arrived: &Arrived) {}

    /// A cluster barrier is complete: every arrival, with the slot of its block.
    fn cluster_barrier(&mut self, _arrivals: &[(usize, Arrived)]) {}

    /// A barrier of the block is complete.
    fn barrier(&mut self, _slot: usize, _complete: &Complete<'_>) {}
}

/// Observes nothing.
impl Observer for () {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    #[inline(always)]
    fn watches(&self) -> bool {
        false
    }
}

/// A split of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) slot: usize,
    pub(crate) warp: u32,
    pub(crate) base: Base,
    /// Lanes that have not exited.
    pub(crate) live: u32,
}

/// An access to memory by some lanes, within one region, checked for bounds and alignment.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) region: Region<'a>,
    /// Each lane's byte offset in the region.
    pub(crate) offsets: &'a Row64,
    pub(crate) lanes: u32,
    /// Bytes per lane, all elements of a vector together.
    pub(crate) size: u32,
    pub(crate) access: Access,
    /// Bytes from lane to lane, if constant within each half warp.
    pub(crate) step: Option<u64>,
}

impl<'a> Seen<'a> {
    #[inline(always)]
    pub(super) fn new(part: Part<'a>, offsets: &'a Row64, size: u32, access: Access) -> Self {
        Self {
            region: part.region,
            offsets,
            lanes: part.lanes,
            size,
            access,
            step: None,
        }
    }
}

/// Lanes that exit, and the lanes of the same warp that wait for them in a warp-level instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) waiting: u32,
    pub(crate) waiting_pc: u32,
}

/// Lanes of a shuffle that read from a lane that does not execute it with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stray {
    pub(crate) lanes: u32,
    /// Source lane of the first one.
    pub(crate) source: u32,
    pub(crate) members: u32,
    pub(crate) active: u32,
}

/// Lanes that arrive at a barrier of the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    /// Identifies the arrival within its block; for lanes that wait, the last of them to arrive.
    pub(crate) ticket: u64,
}

/// A completed barrier: the lanes that it releases, and those that only arrived.
pub(crate) struct Complete<'a> {
    /// The whole block participates.
    pub(crate) whole: bool,
    pub(crate) waited: &'a [Arrived],
    pub(crate) announced: &'a [Arrived],
}
