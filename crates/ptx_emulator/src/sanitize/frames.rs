//! Frames of local memory: a callee may access its callers' arrays, and an address identifies the
//! frame.

use crate::decode::Program;
use crate::exec::{Base, Turn};
use std::collections::HashMap;

/// The active calls of all threads.
pub(crate) struct Frames {
    /// Whether any function has an array.
    matter: bool,
    /// By block slot and warp.
    warps: HashMap<(usize, u32), Vec<Frame>>,
}

struct Frame {
    base: Base,
    lanes: u32,
}

impl Frames {
    pub(crate) fn new(program: &Program) -> Self {
        let mut functions = program.functions.iter();
        Self {
            matter: functions.any(|function| !function.local_arrays.is_empty()),
            warps: HashMap::new(),
        }
    }

    /// Whether there are arrays in local memory.
    #[inline(always)]
    pub(crate) fn matter(&self) -> bool {
        self.matter
    }

    /// Lanes enter a function.
    pub(crate) fn enters(&mut self, turn: &Turn, mask: u32) {
        if !self.matter {
            return;
        }
        let frames = self.warps.entry((turn.slot, turn.warp)).or_default();
        // They have returned from frames above it.
        let above = frames
            .iter_mut()
            .filter(|frame| frame.base.local >= turn.base.local);
        above.for_each(|frame| frame.lanes &= !mask);
        frames.retain(|frame| frame.lanes != 0);
        frames.push(Frame {
            base: turn.base,
            lanes: mask,
        });
    }

    /// The frame that contains an address of a lane of the current split.
    #[inline(always)]
    pub(crate) fn holding(&self, turn: &Turn, lane: usize, address: u64) -> Base {
        if address >= turn.base.local.into() {
            return turn.base;
        }
        let frames = self.warps.get(&(turn.slot, turn.warp));
        let holds = |frame: &&Frame| {
            frame.lanes & (1 << lane) != 0 && u64::from(frame.base.local) <= address
        };
        let frames = frames.into_iter().flatten().filter(holds);
        let nearest = frames.max_by_key(|frame| frame.base.local);
        nearest.map_or(turn.base, |frame| frame.base)
    }
}
