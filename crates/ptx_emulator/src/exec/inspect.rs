//! The state of a paused launch: blocks, warps, and where their lanes are.

use super::block::Block;
use super::frame::Row32;
use super::machine::Machine;
use super::split::{Base, Split, State};
use super::warp::Warp;
use crate::decode::{Cell, Program};

/// Lanes of a warp that are at one instruction of one call.
pub(crate) struct Standing<'a> {
    pub(crate) lanes: u32,
    pub(crate) pc: u32,
    pub(crate) base: Base,
    /// The callers, outermost first, and where each continues.
    pub(crate) stack: &'a [(Base, u32)],
    pub(crate) wait: Wait,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: the launch's next instruction is theirs.
    Next,
    /// Their turn.
    Turn,
    /// A barrier of the block: its number, and its thread count unless it is all threads.
    Barrier(u32, Option<u32>),
    Cluster,
    /// Other lanes of the warp.
    Members,
}

impl Machine {
    /// The warp whose instruction is next, and its block.
    pub(crate) fn next(&self) -> Option<(&Block, &Warp)> {
        let mut warps = self
            .blocks()
            .flat_map(|block| block.warps.iter().map(move |warp| (block, warp)));
        warps.find(|(_, warp)| warp.paused.is_some())
    }

    /// The block of that number, while it runs.
    pub(crate) fn block(&self, number: u64) -> Option<&Block> {
        self.blocks().find(|block| block.number == number)
    }

    /// The approximate size of a clone, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks = self.blocks().map(|block| {
            let warps = block.warps.iter().map(Warp::bytes);
            4 * block.shared.words.len() as u64 + warps.sum::<u64>()
        });
        blocks.sum()
    }
}

impl Block {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn warps(&self) -> &[Warp] {
        &self.warps
    }

    /// The words of its shared memory that the launch uses.
    pub(crate) fn shared(&self) -> &[u32] {
        self.shared.used()
    }
}

impl Warp {
    /// Its number in its block.
    pub(crate) fn number(&self) -> u32 {
        self.index
    }

    pub(crate) fn existing(&self) -> u32 {
        self.exists
    }

    pub(crate) fn living(&self) -> u32 {
        self.live
    }

    /// Where its lanes are, the ones whose instruction is next first.
    pub(crate) fn standing(&self) -> impl Iterator<Item = Standing<'_>> {
        let paused = self.paused.iter().map(|(split, cursor)| Standing {
            pc: cursor.pc,
            wait: Wait::Next,
            ..Standing::of(split)
        });
        paused.chain(self.splits.iter().map(Standing::of))
    }

    /// A register of a call, in one lane.
    pub(crate) fn register(&self, base: Base, cell: Cell, lane: usize) -> u64 {
        let row = |start: u32, row: u16| start as usize + usize::from(row);
        let value = match cell {
            Cell::R32(at) => self.w32.get(row(base.w32, at)).map(|r| u64::from(r[lane])),
            Cell::R64(at) => self.w64.get(row(base.w64, at)).map(|r| r[lane]),
            Cell::Predicate(at) => {
                let lanes = self.predicates.get(row(base.predicates, at));
                lanes.map(|lanes| u64::from(lanes >> lane & 1))
            }
        };
        value.unwrap_or(0)
    }

    /// A byte of a lane's local memory.
    pub(crate) fn local_byte(&self, offset: u64, lane: usize) -> Option<u8> {
        let row: &Row32 = self.local.get(usize::try_from(offset / 4).ok()?)?;
        Some(row[lane].to_le_bytes()[(offset % 4) as usize])
    }

    /// The lanes of the next instruction for which its guard holds.
    pub(crate) fn guarded(&self, at: &Standing<'_>, program: &Program) -> u32 {
        let predicates = &self.predicates[at.base.predicates as usize..];
        program.code[at.pc as usize].guard.lanes(predicates) & at.lanes
    }

    fn bytes(&self) -> u64 {
        let rows = self.w32.len() + 2 * self.w64.len() + self.local.len();
        128 * rows as u64 + 4 * self.predicates.len() as u64
    }
}

impl<'a> Standing<'a> {
    fn of(split: &'a Split) -> Self {
        Self {
            lanes: split.mask,
            pc: split.pc,
            base: split.base,
            stack: &split.stack,
            wait: match split.state {
                State::Runnable => Wait::Turn,
                State::Barrier(waiting) => Wait::Barrier(waiting.id, waiting.count),
                State::Cluster => Wait::Cluster,
                State::Members => Wait::Members,
            },
        }
    }
}
