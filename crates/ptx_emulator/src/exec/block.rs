use super::activity::Activity;
use super::barrier;
use super::deadlock::Looks;
use super::launch::Launch;
use super::memory::SharedWords;
use super::observe::Observer;
use super::rounds::Rounds;
use super::schedule::Schedule;
use super::split::Split;
use super::warp::{Arrival, RaisedAt, TurnEnd, Warp, WarpContext};
use crate::launch::Statistics;
use crate::progress::{Progress, Running};

/// A running block. Its memory is reused for the next block of the worker.
#[derive(Clone)]
pub(crate) struct Block {
    /// Its number in the grid, x fastest.
    pub(super) number: u64,
    /// Index among its worker's blocks.
    slot: usize,
    /// Rank in its cluster.
    rank: u32,
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Shared,
    arrivals: Vec<Arrival>,
    ticket: u64,
    /// Warp instructions executed so far: the clock that its threads read.
    clock: u64,
    looks: Looks,
    /// The round that the launch paused in.
    round: Option<Round>,
}

/// Shared memory. A clone has only the part that the launch uses.
pub(super) struct Shared {
    pub(super) words: Box<SharedWords>,
    used: usize,
}

/// A round: one turn for each warp.
#[derive(Clone)]
struct Round {
    order: Vec<usize>,
    next: usize,
    quantum_ended: bool,
    /// Warp instructions of the block's slice before the launch paused.
    spent: u64,
}

/// State of a worker that is not part of its blocks.
pub(super) struct Worker<'a, O: ?Sized> {
    /// For each instruction, the allocation that it last accessed.
    pub(super) hints: &'a mut [u32],
    pub(super) observer: &'a mut O,
    /// The order of threads, when it is not the emulator's own.
    pub(super) schedule: &'a mut Option<Schedule>,
    pub(super) activity: &'a mut Activity,
    /// Instructions until the launch pauses.
    pub(super) budget: &'a mut u64,
}

/// How a block's time slice ended.
pub(super) enum Slice {
    Finished,
    /// Its threads wait at the cluster barrier.
    Waiting,
    /// It can continue.
    Unfinished,
    /// The launch pauses in the middle of it.
    Paused,
    /// A fault, and the warp it happened in.
    Fault(usize, RaisedAt),
}

impl Block {
    pub(super) fn new(launch: &Launch<'_>, slot: usize, rank: u32) -> Self {
        let warps = (0..launch.threads.div_ceil(32)).map(Warp::new).collect();
        Self {
            number: 0,
            slot,
            rank,
            index: [0; 3],
            warps,
            shared: Shared::new(launch.shared_bytes.div_ceil(4) as usize),
            arrivals: Vec::new(),
            ticket: 0,
            clock: 0,
            looks: Looks::start(),
            round: None,
        }
    }

    /// Starts the next block in this slot: sets its cluster rank and clears its memory.
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
        self.shared.used_mut().fill(0);
        self.arrivals.clear();
        self.ticket = 0;
        self.clock = 0;
        self.looks = Looks::start();
        self.round = None;
        worker.observer.block(self.slot, number, self.index);
        let (warps, _, mut around) = self.parts(launch, worker, Vec::new());
        for warp in warps {
            warp.start(&mut around);
        }
    }

    /// The warps, and the context that they run in.
    fn parts<'a, 'l, O: Observer + ?Sized>(
        &'a mut self,
        launch: &'a Launch<'l>,
        worker: &'a mut Worker<'_, O>,
        peers: Vec<&'a mut SharedWords>,
    ) -> (&'a mut [Warp], &'a mut Looks, WarpContext<'a, 'l, O>) {
        let around = WarpContext {
            launch,
            observer: worker.observer,
            schedule: worker.schedule.as_mut(),
            slot: self.slot,
            block: self.index,
            shared: &mut self.shared.words,
            peers,
            rank: self.rank,
            hints: worker.hints,
            activity: worker.activity,
            arrivals: &mut self.arrivals,
            ticket: &mut self.ticket,
            clock: self.clock,
            warp_instructions: 0,
            lane_instructions: 0,
            budget: worker.budget,
        };
        (&mut self.warps, &mut self.looks, around)
    }

    /// Runs the warps in turn until the block exits, waits for its cluster, or has used its share
    /// of warp instructions.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        worker: &mut Worker<'_, O>,
        peers: Vec<&mut SharedWords>,
        statistics: &mut Statistics,
        share: u64,
    ) -> Slice {
        // Reborrowed, to match the lifetime of the rest of the context.
        let peers = peers.into_iter().map(|peer| &mut *peer).collect();
        let mut round = self
            .round
            .take()
            .unwrap_or_else(|| Round::over(self.warps.len()));
        let (warps, looks, mut around) = self.parts(launch, worker, peers);
        let slice = 'slice: loop {
            if round.next == round.order.len() {
                round.begin(around.schedule.as_deref_mut());
            }
            while let Some(&index) = round.order.get(round.next) {
                match warps[index].run(&mut around) {
                    Ok(TurnEnd::QuantumEnd) => round.quantum_ended = true,
                    Ok(TurnEnd::Stopped) => {}
                    Ok(TurnEnd::Paused) => break 'slice Slice::Paused,
                    Err(raised_at) => break 'slice Slice::Fault(index, raised_at),
                }
                round.next += 1;
            }
            let quantum_ended = round.quantum_ended;
            match barrier::release(warps, &mut around, !quantum_ended) {
                Ok(released) if released || quantum_ended => {}
                Ok(_) if warps.iter().all(Warp::is_finished) => break Slice::Finished,
                Ok(_) => break Slice::Waiting,
                Err((warp, raised_at)) => break Slice::Fault(warp, raised_at),
            }
            let steps = around.clock + around.warp_instructions;
            if looks.are_due(steps) && looks.look(steps, warps, launch.program, around.activity) {
                tell(launch, around.block, warps);
            }
            let gives_way = (around.schedule.as_deref_mut()).is_some_and(Schedule::gives_way);
            // A block that only waits yields to others.
            if gives_way
                || round.spent + around.warp_instructions > share
                || looks.are_still(around.activity)
            {
                break Slice::Unfinished;
            }
        };
        let (warp_instructions, lane_instructions) =
            (around.warp_instructions, around.lane_instructions);
        self.clock += warp_instructions;
        if matches!(slice, Slice::Paused) {
            round.spent += warp_instructions;
            self.round = Some(round);
        }
        statistics.warp_instructions += warp_instructions;
        statistics.lane_instructions += lane_instructions;
        slice
    }

    pub(super) fn is_finished(&self) -> bool {
        self.warps.iter().all(Warp::is_finished)
    }

    /// Its index among its worker's blocks.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Whether its state can no longer change, provided that the other blocks' states cannot.
    pub(super) fn is_still(&self, activity: &Activity) -> bool {
        self.is_finished() || self.looks.are_still(activity)
    }

    /// A looping warp and one of its lanes in the loop; if no warp loops, any warp that has not
    /// exited.
    pub(super) fn loop_place(&self) -> Option<LoopPlace> {
        loop_place(&self.warps)
    }
}

impl Shared {
    fn new(used: usize) -> Self {
        const WORDS: usize = std::mem::size_of::<SharedWords>() / 4;
        // Allocated on the heap: it is too large for the stack.
        let words: Box<[u32]> = vec![0; WORDS].into();
        let words = words.try_into().unwrap_or_else(|_| Box::new([0; WORDS]));
        Self { words, used }
    }

    /// What the launch uses.
    pub(super) fn used(&self) -> &[u32] {
        &self.words[..self.used]
    }

    fn used_mut(&mut self) -> &mut [u32] {
        &mut self.words[..self.used]
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.used);
        copy.used_mut().copy_from_slice(self.used());
        copy
    }
}

impl Round {
    /// A finished round, so that the next one begins.
    fn over(warps: usize) -> Self {
        Self {
            order: (0..warps).collect(),
            next: warps,
            quantum_ended: false,
            spent: 0,
        }
    }

    fn begin(&mut self, schedule: Option<&mut Schedule>) {
        if let Some(schedule) = schedule {
            schedule.shuffle(&mut self.order);
        }
        (self.next, self.quantum_ended) = (0, false);
    }
}

/// Where a warp loops.
pub(super) struct LoopPlace {
    pub(super) warp: usize,
    pub(super) lane: u32,
    pub(super) pc: u32,
    pub(super) rounds: Option<Rounds>,
}

fn loop_place(warps: &[Warp]) -> Option<LoopPlace> {
    let running = warps
        .iter()
        .enumerate()
        .filter(|(_, warp)| !warp.is_finished());
    let places = running.filter_map(|(index, warp)| {
        let rounds = warp.loops.main();
        let inside = |split: &&Split| rounds.as_ref().is_some_and(|rounds| rounds.holds(split));
        let split = warp.splits.iter().find(inside).or(warp.splits.first())?;
        Some(LoopPlace {
            warp: index,
            lane: split.mask.trailing_zeros() & 31,
            pc: split.pc,
            rounds,
        })
    });
    places.max_by_key(|place| {
        let count = place.rounds.as_ref().map_or(0, |rounds| rounds.count);
        (count, std::cmp::Reverse(place.warp))
    })
}

/// Reports to the listener that a block is still running.
fn tell(launch: &Launch<'_>, block: [u32; 3], warps: &[Warp]) {
    let rounds = || {
        let place = loop_place(warps)?;
        let thread = launch.thread(place.warp, place.lane);
        Some((thread, place.rounds?.describe(launch.program)))
    };
    launch
        .progress
        .tell(Progress::Running(Running::new(block, &rounds)));
}
