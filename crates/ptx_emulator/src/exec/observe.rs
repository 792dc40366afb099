//! What can be seen of a running launch: the wall between the interpreter and everything that watches it.
//!
//! The interpreter is generic over its [`Observer`], so that a launch that nobody watches is compiled without any of
//! these calls. All others share one copy of it and are called through a table: the loop is large to compile. An observer only watches: nothing that it does changes what the program does.

use super::frame::{Frame, Row64};
use super::memory::{Memory, Part, Region};
use super::split::Base;
use crate::decode::Program;
use crate::fault::Access;
use std::ops::Range;

/// Watches a launch. Every method but the first may be left out.
///
/// A turn is a stretch of instructions of one split; [`turn`](Self::turn) says whose it is, and what follows belongs
/// to it until the next one.
pub(crate) trait Observer: Send {
    /// Itself, to be called through a table.
    fn as_dyn(&mut self) -> &mut dyn Observer;

    /// Whether anybody is there to be told: what only serves to tell is then left out.
    fn watches(&self) -> bool {
        true
    }

    /// A block begins. `slot` names it until another block begins there; a worker has few slots.
    fn block(&mut self, _slot: usize, _number: u64, _index: [u32; 3]) {}

    /// Some lanes enter a function, the kernel included: all registers of the frame are without a value, and so is its
    /// local memory, but for the parameters that [`copies_local`](Self::copies_local) brings next.
    fn enters(&mut self, _turn: &Turn, _mask: u32) {}

    /// A call copies a parameter or result within the local memory of a warp: byte offsets and a size in bytes.
    fn copies_local(&mut self, _turn: &Turn, _from: u32, _to: u32, _size: u32, _mask: u32) {}

    /// A function that the driver supplies writes its result: a byte offset in the local memory of a warp and a size.
    fn writes_local(&mut self, _turn: &Turn, _to: u32, _size: u32, _mask: u32) {}

    /// A split of a warp gets its turn.
    fn turn(&mut self, _turn: &Turn) {}

    /// The lanes of `mask` are about to execute an instruction; `active` holds those of the split, also the ones that
    /// its guard holds back.
    fn step(&mut self, _program: &Program, _pc: u32, _mask: u32, _active: u32, _frame: &Frame<'_>) {
    }

    /// Lanes come to a warp-level instruction and wait there for its other members: it is executed later.
    fn waits(&mut self, _pc: u32, _mask: u32) {}

    /// An instruction whose guard holds for no lane of the split.
    fn skip(&mut self, _pc: u32, _active: u32, _frame: &Frame<'_>) {}

    /// The instruction is about to access memory. One instruction makes one call for each region that its lanes touch.
    fn access(&mut self, _pc: u32, _seen: &Seen<'_>, _frame: &Frame<'_>, _memory: &Memory<'_>) {}

    /// A lane takes a chunk of the heap, which may have been another's before: the heap's address, and offsets in it.
    fn takes(&mut self, _heap: u64, _chunk: Range<u64>) {}

    /// An instruction ends the launch with a fault. A later one, of a block that began before, takes its place.
    fn faults(&mut self) {}

    /// Lanes met at a `bar.warp.sync`.
    fn warp_barrier(&mut self, _slot: usize, _warp: u32, _mask: u32) {}

    /// Lanes leave the kernel while others wait for them at an instruction that they have passed.
    fn leaves(&mut self, _left: &Left) {}

    /// Lanes read from one that does not take part in their shuffle: their results are undefined.
    fn stray(&mut self, _pc: u32, _stray: &Stray) {}

    /// Lanes arrive at a barrier of the block.
    fn arrives(&mut self, _slot: usize, _arrived: &Arrived) {}

    /// A barrier of a cluster is complete: every arrival, with the slot of its block.
    fn cluster_barrier(&mut self, _arrivals: &[(usize, Arrived)]) {}

    /// A barrier of the block is complete.
    fn barrier(&mut self, _slot: usize, _complete: &Complete<'_>) {}
}

/// Watches nothing.
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

/// An access to memory by some lanes, inside one region, checked for bounds and alignment.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) region: Region<'a>,
    /// Each lane's offset in the region, in bytes.
    pub(crate) offsets: &'a Row64,
    pub(crate) lanes: u32,
    /// Bytes of each lane, all elements of a vector together.
    pub(crate) size: u32,
    pub(crate) access: Access,
    /// Bytes from lane to lane, when all lanes of each half of the warp keep to that.
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

/// Lanes that leave, and those of the same warp that wait for them as members of a warp-level instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) waiting: u32,
    pub(crate) waiting_pc: u32,
}

/// Lanes of a shuffle that read from one that does not execute it with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stray {
    pub(crate) lanes: u32,
    /// What the first of them reads from.
    pub(crate) source: u32,
    pub(crate) members: u32,
    pub(crate) active: u32,
}

/// Lanes that come to a barrier of the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    /// Names the arrival within its block.
    pub(crate) ticket: u64,
}

/// A barrier that is complete: those that it lets go, and those that only announced themselves.
pub(crate) struct Complete<'a> {
    /// The whole block takes part.
    pub(crate) whole: bool,
    pub(crate) waited: &'a [Arrived],
    pub(crate) announced: &'a [Arrived],
}
