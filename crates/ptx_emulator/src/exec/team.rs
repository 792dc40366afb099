//! A team: the blocks of a cluster, which one worker runs in turn. They see each other's shared
//! memory and share the cluster barrier. Without clusters each block is a team.

use super::barrier::{self, BlockFault};
use super::block::{Block, Slice, Worker};
use super::launch::Launch;
use super::observe::{Arrived, Observer};
use super::split::State;
use crate::emulator::Statistics;

pub(super) struct Team {
    /// Number of teams that started earlier.
    pub(super) position: u64,
    pub(super) blocks: Vec<Block>,
}

/// How a team's time slice ended.
pub(super) enum TeamSlice {
    Finished,
    /// It can continue.
    Unfinished,
    /// A fault, and the block in which it happened.
    Fault(usize, BlockFault),
}

impl Team {
    /// A worker's next team; `made` have been created before.
    pub(super) fn new(launch: &Launch<'_>, made: usize) -> Self {
        let size = launch.cluster_blocks();
        let slot = |rank: u32| made * size as usize + rank as usize;
        let blocks = (0..size).map(|rank| Block::new(launch, slot(rank), rank));
        Self {
            position: 0,
            blocks: blocks.collect(),
        }
    }

    /// Starts the team at that position.
    pub(super) fn start<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        position: u64,
        worker: &mut Worker<'_, O>,
    ) {
        self.position = position;
        let number = match &worker.schedule {
            Some(schedule) => schedule.block(position),
            None => position,
        };
        for block in &mut self.blocks {
            block.start(launch, number, worker);
        }
    }

    /// Runs the blocks in turn until all exit or their share of warp instructions is used.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        worker: &mut Worker<'_, O>,
        statistics: &mut Statistics,
        share: u64,
    ) -> TeamSlice {
        let before = statistics.warp_instructions;
        loop {
            let mut tired = false;
            for rank in 0..self.blocks.len() {
                let (left, right) = self.blocks.split_at_mut(rank);
                let Some((block, right)) = right.split_first_mut() else {
                    break;
                };
                let peers = left.iter_mut().chain(right);
                let peers = peers.map(|peer| &mut *peer.shared).collect();
                match block.run(launch, worker, peers, statistics, share) {
                    Slice::Fault(warp, located) => return TeamSlice::Fault(rank, (warp, located)),
                    Slice::Unfinished => tired = true,
                    Slice::Waiting | Slice::Finished => {}
                }
            }
            let released = self.release(worker);
            if !released && !tired {
                return match self.blocks.iter().all(Block::is_finished) {
                    true => TeamSlice::Finished,
                    false => self.stuck(launch),
                };
            }
            if tired || statistics.warp_instructions - before > share {
                return TeamSlice::Unfinished;
            }
        }
    }

    /// Completes the cluster barrier's phase if every thread has arrived; returns whether it did.
    fn release<O: Observer + ?Sized>(&mut self, worker: &mut Worker<'_, O>) -> bool {
        let warps = || self.blocks.iter().flat_map(|block| &block.warps);
        let complete = warps().all(|warp| warp.live & !warp.cluster.arrived == 0)
            && warps().any(|warp| warp.cluster.arrived != 0);
        if !complete {
            return false;
        }
        let mut arrivals: Vec<(usize, Arrived)> = Vec::new();
        for block in &mut self.blocks {
            let slot = block.slot();
            for warp in &mut block.warps {
                let of_warp = warp.complete_cluster().into_iter();
                arrivals.extend(of_warp.map(|who| (slot, who)));
            }
        }
        worker.observer.cluster_barrier(&arrivals);
        true
    }

    /// Diagnoses a stuck cluster: threads wait at its barrier for others that never arrive.
    #[cold]
    fn stuck(&self, launch: &Launch<'_>) -> TeamSlice {
        let warps = self.blocks.iter().enumerate().flat_map(|(rank, block)| {
            let warps = block.warps.iter().enumerate();
            warps.map(move |(index, warp)| (rank, index, warp))
        });
        let waiting = warps.clone().find_map(|(rank, index, warp)| {
            let mut splits = warp.splits.iter();
            let split = splits.find(|split| split.state == State::Cluster);
            split.map(|split| (rank, index, split))
        });
        let Some((rank, index, split)) = waiting else {
            // Unreachable: a single block reports by itself why it is stuck.
            return TeamSlice::Finished;
        };
        let others = warps.flat_map(|(_, _, warp)| warp.waiting_places(launch));
        let here = launch.program.place(split.pc);
        let others = others.filter(|(_, place)| *place != here).collect();
        TeamSlice::Fault(rank, barrier::never_complete(index, split, launch, others))
    }
}
