//! Copies of the whole state of a launch, from which earlier moments are recomputed.

use super::image::Image;
use crate::exec::Machine;
use crate::memory::Table;

/// Steps between two checkpoints, at first.
const STRIDE: u64 = 4096;
const BUDGET: u64 = 256 << 20;

/// The checkpoints of a launch, by moment; the first one is before its first step.
pub(super) struct Checkpoints {
    all: Vec<Checkpoint>,
    stride: u64,
    budget: u64,
}

struct Checkpoint {
    at: u64,
    machine: Machine,
    image: Image,
    bytes: u64,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            stride: STRIDE,
            budget: BUDGET,
        }
    }
}

impl Checkpoints {
    pub(super) fn set_budget(&mut self, bytes: u64) {
        self.budget = bytes;
        self.thin();
    }

    /// Steps from one checkpoint to the next.
    pub(super) fn stride(&self) -> u64 {
        self.stride
    }

    /// Creates a checkpoint at a step, unless there is one shortly before it.
    pub(super) fn offer(&mut self, at: u64, machine: &Machine, table: &Table) {
        let place = self.all.partition_point(|known| known.at <= at);
        let before = place.checked_sub(1).map(|before| &self.all[before]);
        if before.is_some_and(|before| at - before.at < self.stride) {
            return;
        }
        let image = Image::of(table, before.map(|before| &before.image));
        let checkpoint = Checkpoint {
            at,
            machine: machine.clone(),
            bytes: machine.bytes() + image.own_bytes(),
            image,
        };
        self.all.insert(place, checkpoint);
        self.thin();
    }

    /// The last moment up to this one that has a checkpoint.
    pub(super) fn nearest(&self, at: u64) -> Option<u64> {
        self.before(at).map(|known| known.at)
    }

    /// Restores the memory of the last checkpoint up to a moment; returns the checkpoint's moment
    /// and machine.
    pub(super) fn restore(&self, at: u64, table: &Table) -> Option<(u64, Machine)> {
        let known = self.before(at)?;
        known.image.restore(table);
        Some((known.at, known.machine.clone()))
    }

    fn before(&self, at: u64) -> Option<&Checkpoint> {
        let place = self.all.partition_point(|known| known.at <= at);
        self.all.get(place.checked_sub(1)?)
    }

    /// Drops every other checkpoint while they exceed the budget; never the first.
    fn thin(&mut self) {
        while self.all.len() > 1
            && self.all.iter().map(|known| known.bytes).sum::<u64>() > self.budget
        {
            let mut number = 0;
            self.all.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }
}
