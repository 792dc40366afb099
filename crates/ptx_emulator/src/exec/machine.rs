//! A launch that can pause before any instruction, be cloned there, and continue as if it had not
//! paused.

use super::block::Block;
use super::launch::{Launch, Request};
use super::observe::Observer;
use super::shift::{Progress, Shift, Turned};
use crate::fault::Fault;
use crate::launch::Statistics;

/// The state of a launch on one worker, except for device memory, which is in its
/// [`Table`](crate::memory::Table).
///
/// The thread order is that of a check of the same request.
#[derive(Clone)]
pub(crate) struct Machine {
    shift: Shift,
    progress: Progress,
    ended: bool,
}

impl Machine {
    /// A launch before its first instruction; no block has begun.
    pub(crate) fn new(request: &Request<'_>) -> Self {
        let progress = Progress::new(request.teams());
        Self {
            shift: Shift::new(&Launch::new(request, 1), &progress),
            progress,
            ended: false,
        }
    }

    /// Runs `budget` more instructions, and pauses before the next one. Returns how many were left
    /// if the launch ended earlier.
    ///
    /// Lanes that arrive at a warp-level instruction and wait there count as one instruction.
    pub(crate) fn run(
        &mut self,
        request: &Request<'_>,
        observer: &mut dyn Observer,
        mut budget: u64,
    ) -> u64 {
        let mut launch = Launch::new(request, 1);
        launch.output = Some(request.output);
        while !self.ended {
            match (self.shift).turn(&launch, &self.progress, observer, &mut budget) {
                Turned::Goes => {}
                Turned::Paused => break,
                Turned::Ended => self.ended = true,
            }
        }
        budget
    }

    /// Whether no instruction is left.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The fault that ended the launch.
    pub(crate) fn fault(&self) -> Option<Box<Fault>> {
        self.progress.fault()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.shift.statistics
    }

    /// The running blocks, beginning with the one whose instruction is next.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        let teams = self.shift.resident.iter();
        teams.flat_map(|team| &team.blocks)
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> usize {
        let team = self.shift.resident.front();
        team.map_or(1, |team| team.blocks.len())
    }
}
