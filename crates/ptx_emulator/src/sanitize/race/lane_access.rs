use super::chains::Chains;
use super::clocks::{Block, Now};
use super::record::Record;
use crate::decode::Program;
use crate::decode::op::{Order, Scope};
use std::collections::HashSet;

/// The current access of a lane.
pub(super) struct LaneAccess<'a> {
    pub(super) program: &'a Program,
    pub(super) block: &'a Block,
    pub(super) chains: &'a Chains,
    pub(super) now: Now,
    pub(super) lane: usize,
    pub(super) writes: bool,
    /// It continues in the background: an asynchronous copy.
    pub(super) pending: bool,
    pub(super) strength: Option<Strength>,
    /// The kernel has clusters of several blocks.
    pub(super) clustered: bool,
    /// Other blocks can access the memory too.
    pub(super) wide: bool,
    /// The strong reads that poll for another thread.
    pub(super) polls: &'a HashSet<u32>,
    pub(super) gathers: &'a [Gather],
}

/// Lanes of a warp that met in an exchange after some of them used a barrier object.
#[derive(Clone, Copy)]
pub(super) struct Gather {
    /// The warp's number in the launch.
    pub(super) warp: u32,
    pub(super) lanes: u32,
    /// The warp's time: earlier operations came before.
    pub(super) time: u32,
}

/// The strength of an access: atomic, volatile, or with a memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strength {
    pub(super) order: Order,
    pub(super) scope: Scope,
    /// Bytes per element.
    pub(super) size: u8,
    /// It may mean only a part of its word.
    pub(super) in_part: bool,
}

impl LaneAccess<'_> {
    /// The lanes of an access among `lanes` that nothing orders before this one.
    pub(super) fn unordered(&self, record: &Record, lanes: u32) -> u32 {
        let me = (self.now.warp_in_block(), self.lane);
        self.block.unordered(self.chains, me, record, lanes)
    }
}

impl Strength {
    /// Whether two strong accesses to the same bytes overlap completely: they have the same size,
    /// or one is an operation on a word that means only the other's bytes.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let within = |word: &Self, part: &Self| word.in_part && part.size < word.size;
        self.size == other.size || within(self, other) || within(other, self)
    }
}
