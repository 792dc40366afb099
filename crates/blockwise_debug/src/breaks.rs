//! Breakpoints: what may stop a running launch.

use crate::expression::Condition;
use crate::lane::{LaneId, first_lane};
use ptx_emulator::replay::{Event, Word};
use ptx_emulator::{Finding, Tool};
use std::collections::HashSet;

/// The filters of exceptions: their names, labels, and the detectors that they stand for.
pub(crate) const FILTERS: [(&str, &str, Tool); 4] = [
    ("race", "Races on shared and global memory", Tool::Racecheck),
    (
        "memory",
        "Accesses out of bounds or misaligned",
        Tool::Memcheck,
    ),
    (
        "uninitialised",
        "Uses of values that nobody wrote",
        Tool::Initcheck,
    ),
    (
        "barrier",
        "Barriers that threads miss, deadlocks",
        Tool::Synccheck,
    ),
];

/// Everything that may stop the launch.
#[derive(Default)]
pub(crate) struct Breaks {
    pub(crate) lines: Vec<LineBreak>,
    pub(crate) watches: Vec<Watch>,
    /// Findings of the launch in this order of threads; computed on first use.
    pub(crate) findings: Option<Vec<Finding>>,
    /// The filters that are enabled.
    pub(crate) tools: Vec<Tool>,
}

/// A breakpoint on a line.
pub(crate) struct LineBreak {
    pub(crate) id: i64,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) heads: HashSet<u32>,
    pub(crate) condition: Option<Condition>,
}

/// A breakpoint on some bytes of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) id: i64,
    pub(crate) word: Word,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Watch {
    pub(crate) fn meets(&self, event: &Event<'_>) -> Option<LaneId> {
        let Event::Access(instruction, accesses) = event else {
            return None;
        };
        let written = self.word.written_by(accesses).filter(|_| self.writes);
        let lane = written.or_else(|| {
            let reads = self.reads && accesses.access != ptx_emulator::Access::Write;
            self.word.touched_by(accesses).filter(|_| reads)
        })?;
        let LaneId { block, warp, .. } = first_lane(instruction);
        Some(LaneId { block, warp, lane })
    }
}
