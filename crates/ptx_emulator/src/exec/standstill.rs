//! Blocks that run for ever and can be shown to: their threads go round loops that write nothing, and come back to the same
//! registers while nobody else writes either.
//!
//! A block is looked at now and then. What it was like at some look is kept; a later look that finds the same registers at
//! the same places, with no store, call or clock in the loops between them, is a *still* one. When every block of the launch
//! has begun and not ended, and each had two still looks while none had another one, nothing can change any more: between
//! its two looks a block has gone from a state back to it while memory stayed as it was.

use super::frame::{Row32, Row64};
use super::split::Split;
use super::warp::Warp;
use crate::decode::Program;
use crate::decode::mbarrier::MbarrierKind;
use crate::decode::op::Op;

/// Warp instructions of a block from one look to the next.
const STRIDE: u64 = 1 << 14;
/// Turns of a block after which a look finds it as it was, at most: barriers inside a loop end turns.
const TRIES: u32 = 64;

/// What the blocks of a worker know of each other.
#[derive(Clone, Default)]
pub(super) struct Calm {
    /// Counts what may have changed memory or may do so.
    epoch: u64,
    /// An atomic operation has changed a value.
    pub(super) changed: bool,
}

impl Calm {
    /// Something happened: what was seen before is no proof.
    pub(super) fn disturb(&mut self) {
        self.epoch += 1;
    }
}

/// What a block was like, and how often it was found so again.
#[derive(Clone, Default)]
pub(super) struct Looks {
    next: u64,
    tries: u32,
    /// The block's instructions when `warps` was taken.
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

    /// Whether the block is due for a look after this number of instructions.
    pub(super) fn are_due(&self, steps: u64) -> bool {
        steps >= self.next
    }

    /// Looks at the block's warps; whether that is all until the next stride.
    pub(super) fn look(
        &mut self,
        steps: u64,
        warps: &mut [Warp],
        program: &Program,
        calm: &mut Calm,
    ) -> bool {
        if std::mem::take(&mut calm.changed) {
            calm.disturb();
        }
        let known = self.warps.len() == warps.len();
        if known && (self.warps.iter().zip(&*warps)).all(|(was, warp)| was.is_like(warp, program)) {
            if self.epoch != calm.epoch {
                (self.epoch, self.still) = (calm.epoch, 0);
            }
            self.still += 1;
        } else if known && self.tries < TRIES {
            // It may stand elsewhere in the same round.
            self.tries += 1;
            return false;
        } else {
            calm.disturb();
            self.still = 0;
            // Ever longer stretches, so that a loop of any length is within one.
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

    /// Whether the block can be shown to go round for ever, if all others can.
    pub(super) fn are_still(&self, calm: &Calm) -> bool {
        self.still >= 2 && self.epoch == calm.epoch && !calm.changed
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

    /// Whether a warp is again what it was, has run since and wrote nothing on its way.
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

    /// Whether a split was there before, and has run since if it can.
    fn knows(&self, split: &Split) -> bool {
        let mut known = self.splits.iter();
        known.any(|known| known.mask == split.mask && known.meets(split))
            && (!split.is_runnable() || split.last_run > self.runs)
    }
}

/// Whether an instruction changes nothing but registers, and gives the same when memory is the same.
fn only_looks(op: &Op) -> bool {
    match op {
        Op::Store(_) | Op::CopyAsync(_) | Op::CopyBulk(_) | Op::CopyTensor(_) => false,
        Op::Call(_) | Op::Clock { .. } => false,
        // Some store.
        Op::Matrix(_) | Op::Surface(_) => false,
        Op::Mbarrier(op) => matches!(op.kind, MbarrierKind::Test { .. }),
        // Whether an atomic operation changed anything is seen when it is done.
        _ => true,
    }
}
