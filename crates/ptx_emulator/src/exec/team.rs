//! A team: the blocks of a cluster, which one worker runs in turn. They see each other's shared
//! memory and share the cluster barrier. Without clusters each block is a team.

use super::barrier::{self, BlockFault};
use super::block::{Block, Slice, Worker};
use super::launch::Launch;
use super::observe::{Arrived, Observer};
use super::split::State;
use crate::launch::Statistics;

#[derive(Clone)]
pub(super) struct Team {
    /// Number of teams that started earlier.
    pub(super) position: u64,
    pub(super) blocks: Vec<Block>,
    /// The slice that the launch paused in.
    paused: Option<Tour>,
}

/// A slice of a team: its blocks in turn.
#[derive(Clone)]
struct Tour {
    rank: usize,
    quantum_ended: bool,
    /// Warp instructions, at most and so far.
    share: u64,
    spent: u64,
}

/// How a team's time slice ended.
pub(super) enum TeamSlice {
    Finished,
    /// It can continue.
    Unfinished,
    /// The launch pauses in the middle of it.
    Paused,
    /// A fault, and the block it happened in.
    Fault(usize, BlockFault),
}

impl Team {
    /// A new team of a worker that has created `made` before.
    pub(super) fn new(launch: &Launch<'_>, made: usize) -> Self {
        let size = launch.cluster_blocks();
        let slot = |rank: u32| made * size as usize + rank as usize;
        let blocks = (0..size).map(|rank| Block::new(launch, slot(rank), rank));
        Self {
            position: 0,
            blocks: blocks.collect(),
            paused: None,
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
        let number = match &*worker.schedule {
            Some(schedule) => schedule.block(position),
            None => position,
        };
        for block in &mut self.blocks {
            block.start(launch, number, worker);
        }
    }

    /// Runs the blocks in turn until all have ended or have used their share of warp instructions.
    /// A slice that the launch paused in continues with the share that it had.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        worker: &mut Worker<'_, O>,
        statistics: &mut Statistics,
        share: u64,
    ) -> TeamSlice {
        let mut tour = self.paused.take().unwrap_or(Tour {
            rank: 0,
            quantum_ended: false,
            share,
            spent: 0,
        });
        let before = statistics.warp_instructions;
        loop {
            while tour.rank < self.blocks.len() {
                let (left, right) = self.blocks.split_at_mut(tour.rank);
                let Some((block, right)) = right.split_first_mut() else {
                    break;
                };
                let peers = left.iter_mut().chain(right);
                let peers = peers.map(|peer| &mut *peer.shared.words).collect();
                match block.run(launch, worker, peers, statistics, tour.share) {
                    Slice::Fault(warp, raised_at) => {
                        return TeamSlice::Fault(tour.rank, (warp, raised_at));
                    }
                    Slice::Paused => {
                        tour.spent += statistics.warp_instructions - before;
                        self.paused = Some(tour);
                        return TeamSlice::Paused;
                    }
                    Slice::Unfinished => tour.quantum_ended = true,
                    Slice::Waiting | Slice::Finished => {}
                }
                tour.rank += 1;
            }
            let quantum_ended = std::mem::take(&mut tour.quantum_ended);
            tour.rank = 0;
            let released = self.release(worker);
            if !released && !quantum_ended {
                return match self.blocks.iter().all(Block::is_finished) {
                    true => TeamSlice::Finished,
                    false => self.stuck(launch),
                };
            }
            let spent = tour.spent + statistics.warp_instructions - before;
            if quantum_ended || spent > tour.share {
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
