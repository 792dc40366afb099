use super::barrier;
use super::launch::Launch;
use super::memory::SharedWords;
use super::observe::Observer;
use super::schedule::Schedule;
use super::warp::{Arrival, Located, Surroundings, TurnEnd, Warp};
use crate::emulator::Statistics;

/// A block while it runs. Blocks are used again, so that their memory is taken only once.
pub(super) struct Block {
    /// Its number in the grid, x fastest.
    pub(super) number: u64,
    /// Its place among the blocks of its worker.
    slot: usize,
    /// Its number in its cluster.
    rank: u32,
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Box<SharedWords>,
    arrivals: Vec<Arrival>,
    ticket: u64,
    /// Instructions of its warps so far: what its threads read as a clock.
    clock: u64,
}

/// What belongs to a worker and not to its blocks.
pub(super) struct Worker<'a, O: ?Sized> {
    /// For each instruction, the allocation that it used last.
    pub(super) hints: &'a mut [u32],
    pub(super) observer: &'a mut O,
    /// The order of threads, when it is not the emulator's own.
    pub(super) schedule: Option<Schedule>,
}

/// How a block's slice ended.
pub(super) enum Slice {
    Finished,
    /// Its threads wait for the cluster.
    Waiting,
    /// It could go on.
    Unfinished,
    /// A fault, and the warp it happened in.
    Fault(usize, Located),
}

impl Block {
    pub(super) fn new(launch: &Launch<'_>, slot: usize, rank: u32) -> Self {
        let warps = (0..launch.threads.div_ceil(32)).map(Warp::new).collect();
        // Made on the heap: it is too large for a stack.
        let shared: Box<[u32]> = vec![0; std::mem::size_of::<SharedWords>() / 4].into();
        let shared = shared
            .try_into()
            .unwrap_or_else(|_| Box::new([0; std::mem::size_of::<SharedWords>() / 4]));
        Self {
            number: 0,
            slot,
            rank,
            index: [0; 3],
            warps,
            shared,
            arrivals: Vec::new(),
            ticket: 0,
            clock: 0,
        }
    }

    /// Makes it a block of the cluster of that number, with its memory cleared.
    pub(super) fn start<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        cluster: u64,
        worker: &mut Worker<'_, O>,
    ) {
        let extents = launch.cluster.map(u64::from);
        let [x, y, _] = launch.config.grid.map(u64::from);
        let grid = [x / extents[0], y / extents[1]];
        let place = |number: u64, [x, y]: [u64; 2]| [number % x, number / x % y, number / x / y];
        let first = place(cluster, grid);
        let within = place(self.rank.into(), [extents[0], extents[1]]);
        let index: [u64; 3] =
            std::array::from_fn(|axis| first[axis] * extents[axis] + within[axis]);
        let number = index[0] + x * (index[1] + y * index[2]);
        self.number = number;
        self.index = index.map(|place| place as u32);
        self.shared[..launch.shared_bytes.div_ceil(4) as usize].fill(0);
        self.arrivals.clear();
        self.ticket = 0;
        self.clock = 0;
        worker.observer.block(self.slot, number, self.index);
        let (warps, mut around) = self.parts(launch, worker, Vec::new());
        for warp in warps {
            warp.start(&mut around);
        }
    }

    /// The warps, and what they need from their surroundings.
    fn parts<'a, 'l, O: Observer + ?Sized>(
        &'a mut self,
        launch: &'a Launch<'l>,
        worker: &'a mut Worker<'_, O>,
        peers: Vec<&'a mut SharedWords>,
    ) -> (&'a mut [Warp], Surroundings<'a, 'l, O>) {
        let around = Surroundings {
            launch,
            observer: worker.observer,
            schedule: worker.schedule.as_mut(),
            slot: self.slot,
            block: self.index,
            shared: &mut self.shared,
            peers,
            rank: self.rank,
            hints: worker.hints,
            arrivals: &mut self.arrivals,
            ticket: &mut self.ticket,
            clock: self.clock,
            warp_instructions: 0,
            lane_instructions: 0,
        };
        (&mut self.warps, around)
    }

    /// Runs the warps in turn until the block ends or waits for its cluster, or has had its share of warp instructions.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        worker: &mut Worker<'_, O>,
        peers: Vec<&mut SharedWords>,
        statistics: &mut Statistics,
        share: u64,
    ) -> Slice {
        // For as long as the others of the surroundings.
        let peers = peers.into_iter().map(|peer| &mut *peer).collect();
        let (warps, mut around) = self.parts(launch, worker, peers);
        let mut order: Vec<usize> = (0..warps.len()).collect();
        let slice = loop {
            let mut tired = false;
            let mut fault = None;
            if let Some(schedule) = &mut around.schedule {
                schedule.shuffle(&mut order);
            }
            for &index in &order {
                match warps[index].run(&mut around) {
                    Ok(TurnEnd::Tired) => tired = true,
                    Ok(TurnEnd::Stopped) => {}
                    Err(located) => {
                        fault = Some((index, located));
                        break;
                    }
                }
            }
            if let Some((warp, located)) = fault {
                break Slice::Fault(warp, located);
            }
            match barrier::release(warps, &mut around, !tired) {
                Ok(released) if released || tired => {}
                Ok(_) if warps.iter().all(Warp::is_finished) => break Slice::Finished,
                Ok(_) => break Slice::Waiting,
                Err((warp, located)) => break Slice::Fault(warp, located),
            }
            if around.warp_instructions > share {
                break Slice::Unfinished;
            }
        };
        let (warp_instructions, lane_instructions) =
            (around.warp_instructions, around.lane_instructions);
        self.clock += warp_instructions;
        statistics.warp_instructions += warp_instructions;
        statistics.lane_instructions += lane_instructions;
        slice
    }

    pub(super) fn is_finished(&self) -> bool {
        self.warps.iter().all(Warp::is_finished)
    }

    /// Its place among the blocks of its worker.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// A place to name when the launch has run too long: the last loop of any warp, and a thread in it.
    pub(super) fn loop_place(&self) -> Option<(usize, u32, u32, Option<u32>)> {
        let running = self
            .warps
            .iter()
            .enumerate()
            .find(|(_, warp)| warp.last_loop.is_some() && !warp.is_finished());
        let running = running.or_else(|| {
            self.warps
                .iter()
                .enumerate()
                .find(|(_, warp)| !warp.is_finished())
        });
        let (index, warp) = running?;
        let split = warp
            .splits
            .iter()
            .find(|split| Some(split.pc) == warp.last_loop)
            .or(warp.splits.first());
        let (pc, lane) = split.map_or((0, 0), |split| (split.pc, split.mask.trailing_zeros() & 31));
        Some((index, lane, pc, warp.last_loop))
    }
}
