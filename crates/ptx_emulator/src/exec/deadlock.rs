//! Proof that a launch never ends: all its threads are in loops that write nothing and return to
//! the same registers.
//!
//! Each block is inspected from time to time. One inspection keeps a snapshot of the registers. A
//! later inspection that finds the same registers at the same instructions, with no store, call or
//! clock read in the loops between, is *still*. The launch can never end once every block has
//! started and none has finished, and each had two still inspections while no other inspection
//! found a change: every block has returned to an earlier state while memory stayed the same.

use super::activity::Activity;
use super::frame::{Row32, Row64};
use super::split::Split;
use super::warp::Warp;
use crate::decode::Program;
use crate::decode::op::{MbarrierKind, Op};

/// Warp instructions of a block between inspections.
const STRIDE: u64 = 1 << 14;
/// Maximum number of turns that one inspection may take to find the snapshot's state again:
/// barriers inside a loop end turns.
const TRIES: u32 = 64;

/// A snapshot of a block, and how often the block was found in the same state again.
#[derive(Clone, Default)]
pub(super) struct Looks {
    next: u64,
    tries: u32,
    /// The block's instruction count when `warps` was taken.
    since: u64,
    warps: Vec<Snapshot>,
    epoch: u64,
    still: u32,
}

#[derive(Clone)]
struct Snapshot {
    runs: u64,
    splits: Vec<Split>,
    w32: Vec<Row32>,
    w64: Vec<Row64>,
    predicates: Vec<u32>,
    local: Vec<Row32>,
}

impl Looks {
    pub(super) fn start() -> Self {
        Self {
            next: STRIDE,
            ..Self::default()
        }
    }

    /// Whether the block is due for an inspection after this number of instructions.
    pub(super) fn are_due(&self, steps: u64) -> bool {
        steps >= self.next
    }

    /// Inspects the block's warps; returns whether the next inspection is a stride away.
    pub(super) fn look(
        &mut self,
        steps: u64,
        warps: &mut [Warp],
        program: &Program,
        activity: &mut Activity,
    ) -> bool {
        if std::mem::take(&mut activity.changed) {
            activity.disturb();
        }
        let known = self.warps.len() == warps.len();
        if known && (self.warps.iter().zip(&*warps)).all(|(was, warp)| was.is_like(warp, program)) {
            if self.epoch != activity.epoch {
                (self.epoch, self.still) = (activity.epoch, 0);
            }
            self.still += 1;
        } else if known && self.tries < TRIES {
            // It may be at another point of the same iteration.
            self.tries += 1;
            return false;
        } else {
            activity.disturb();
            self.still = 0;
            // Over ever longer intervals, so that one of them covers a loop of any length.
            if steps >= 2 * self.since {
                self.since = steps;
                self.warps = warps.iter().map(Snapshot::of).collect();
                warps.iter_mut().for_each(|warp| warp.loops.turn_over());
            }
        }
        self.next = steps + STRIDE;
        self.tries = 0;
        true
    }

    /// Whether the block provably loops forever, provided that all others do.
    pub(super) fn are_still(&self, activity: &Activity) -> bool {
        self.still >= 2 && self.epoch == activity.epoch && !activity.changed
    }
}

impl Snapshot {
    fn of(warp: &Warp) -> Self {
        Self {
            runs: warp.runs,
            splits: warp.splits.clone(),
            w32: warp.w32.clone(),
            w64: warp.w64.clone(),
            predicates: warp.predicates.clone(),
            local: warp.local.clone(),
        }
    }

    /// Whether a warp is in its earlier state, and has run since without writing.
    fn is_like(&self, warp: &Warp, program: &Program) -> bool {
        let mut bodies = warp
            .loops
            .recent()
            .iter()
            .flat_map(|rounds| rounds.body.clone());
        self.splits.len() == warp.splits.len()
            && warp.splits.iter().all(|split| self.knows(split))
            && (&self.predicates, &self.w32) == (&warp.predicates, &warp.w32)
            && (&self.w64, &self.local) == (&warp.w64, &warp.local)
            && bodies.all(|pc| only_looks(&program.code[pc as usize].op))
    }

    /// Whether a split was in this state before, and has run since if it can.
    fn knows(&self, split: &Split) -> bool {
        let mut known = self.splits.iter();
        known.any(|known| known.mask == split.mask && known.meets(split))
            && (!split.is_runnable() || split.last_run > self.runs)
    }
}

/// Whether an instruction changes only registers, and gives the same result for the same memory.
fn only_looks(op: &Op) -> bool {
    match op {
        Op::Store(_) | Op::CopyAsync(_) | Op::CopyBulk(_) | Op::CopyTensor(_) => false,
        Op::Call(_) | Op::Clock { .. } => false,
        // Some of these store.
        Op::Matrix(_) | Op::Surface(_) => false,
        Op::Mbarrier(op) => matches!(op.kind, MbarrierKind::Test { .. }),
        // Atomics are checked when they execute: only changed values count.
        _ => true,
    }
}
