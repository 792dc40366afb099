//! Barrier objects (`mbarrier`): an arrival releases its thread's past to all threads that find its
//! phase complete with `test_wait` or `try_wait`.
//!
//! Operations on an object are atomic, and each continues the release of the earlier ones: waiting
//! for a phase also acquires the phases before it. `cp.async.mbarrier.arrive` makes a phase wait
//! for copies, and thereby for their bytes.

use super::chains::Chains;
use super::clocks::{Block, Now};
use super::copy::Copy;
use super::vector_clock::{Shared, union};
use crate::decode::op::{MbarrierKind, MbarrierOp, Reg};
use crate::exec::{Frame, phase_of};
use std::collections::HashMap;

/// The objects of a block, by their offset in shared memory.
#[derive(Default)]
pub(super) struct Objects(HashMap<u64, Object>);

#[derive(Default)]
struct Object {
    /// Parity of the last phase seen.
    parity: u64,
    /// What arrivals published, by the parity of their phase.
    published: [Shared; 2],
    copies: [Vec<Awaited>; 2],
}

/// A copy that a phase waits for: its thread, at the time of the request.
#[derive(Clone)]
pub(super) struct Awaited {
    pub(super) now: Now,
    pub(super) lane: usize,
    pub(super) copy: Copy,
}

impl Objects {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A lane is about to execute an operation on the object at `offset`, whose contents are
    /// `word`; `copies` are its thread's copies in flight. Returns the copies that this shows to be
    /// complete.
    pub(super) fn operate(
        &mut self,
        (offset, word): (u64, u64),
        op: &MbarrierOp,
        frame: &Frame<'_>,
        (block, chains): (&mut Block, &mut Chains),
        (warp, lane): (u32, usize),
        copies: impl Iterator<Item = Copy>,
    ) -> Vec<Awaited> {
        if matches!(op.kind, MbarrierKind::Init { .. }) {
            self.0.insert(offset, Object::default());
            return Vec::new();
        }
        // An invalid object is a fault.
        let Some(parity) = phase_of(word) else {
            return Vec::new();
        };
        let object = self.0.entry(offset).or_default();
        object.enter(parity);
        match op.kind {
            MbarrierKind::Test { state, .. } => {
                let value = frame.get(state, lane);
                let asked = match state {
                    Reg::R64(_) => phase_of(value),
                    _ => Some(value & 1),
                };
                let Some(asked) = asked.filter(|&asked| asked != parity) else {
                    return Vec::new();
                };
                if op.order.acquires()
                    && let Some(lane) = block.lane(warp, lane)
                {
                    lane.knows = union([&lane.knows, &object.published[asked as usize]]);
                    chains.note_precision(&lane.knows);
                }
                std::mem::take(&mut object.copies[asked as usize])
            }
            MbarrierKind::Arrive { .. }
            | MbarrierKind::Copies { .. }
            | MbarrierKind::Complete { .. } => {
                if matches!(op.kind, MbarrierKind::Copies { .. }) {
                    let now = block.now(warp, 0);
                    let awaited = copies.map(|copy| Awaited {
                        now: now.at(copy.pc),
                        lane,
                        copy,
                    });
                    object.copies[parity as usize].extend(awaited);
                }
                if op.order.releases() {
                    let past = Some(block.past(chains, warp, 1 << lane).publish(chains));
                    let published = &mut object.published[parity as usize];
                    *published = union([&*published, &past]);
                    if let Some(lane) = block.lane(warp, lane) {
                        lane.knows = past;
                    }
                    block.tick(warp);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

impl Object {
    /// The object is in a phase of that parity.
    fn enter(&mut self, parity: u64) {
        if self.parity != parity {
            let [now, before] = [parity, self.parity].map(|parity| parity as usize);
            self.published[now] = self.published[before].clone();
            let older = std::mem::take(&mut self.copies[now]);
            self.copies[before].extend(older);
            self.parity = parity;
        }
    }
}
