use super::barrier;
use super::launch::Launch;
use super::memory::SharedWords;
use super::observe::Observer;
use super::schedule::Schedule;
use super::warp::{Arrival, Located, Surroundings, TurnEnd, Warp};
use crate::emulator::Statistics;

/// A block while it runs. Blocks are used again, so that their memory is taken only once.
pub(super) struct Block {
    /// How many blocks started before it.
    pub(super) position: u64,
    /// Its number in the grid, x fastest.
    pub(super) number: u64,
    /// Its place among the blocks of its worker.
    slot: usize,
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    shared: Box<SharedWords>,
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
    /// It could go on.
    Unfinished,
    /// A fault, and the warp it happened in.
    Fault(usize, Located),
}

impl Block {
    pub(super) fn new(launch: &Launch<'_>, slot: usize) -> Self {
        let warps = (0..launch.threads.div_ceil(32)).map(Warp::new).collect();
        // Made on the heap: it is too large for a stack.
        let shared: Box<[u32]> = vec![0; std::mem::size_of::<SharedWords>() / 4].into();
        let shared = shared
            .try_into()
            .unwrap_or_else(|_| Box::new([0; std::mem::size_of::<SharedWords>() / 4]));
        Self {
            position: 0,
            number: 0,
            slot,
            index: [0; 3],
            warps,
            shared,
            arrivals: Vec::new(),
            ticket: 0,
            clock: 0,
        }
    }

    /// Makes it the block that starts at that position, with its memory cleared.
    pub(super) fn start<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        position: u64,
        worker: &mut Worker<'_, O>,
    ) {
        let [x, y, _] = launch.config.grid.map(u64::from);
        let number = match &worker.schedule {
            Some(schedule) => schedule.block(position),
            None => position,
        };
        (self.position, self.number) = (position, number);
        self.index = [
            (number % x) as u32,
            (number / x % y) as u32,
            (number / x / y) as u32,
        ];
        self.shared[..launch.shared_bytes.div_ceil(4) as usize].fill(0);
        self.arrivals.clear();
        self.ticket = 0;
        self.clock = 0;
        worker.observer.block(self.slot, number, self.index);
        let (warps, mut around) = self.parts(launch, worker);
        for warp in warps {
            warp.start(&mut around);
        }
    }

    /// The warps, and what they need from their surroundings.
    fn parts<'a, 'l, O: Observer + ?Sized>(
        &'a mut self,
        launch: &'a Launch<'l>,
        worker: &'a mut Worker<'_, O>,
    ) -> (&'a mut [Warp], Surroundings<'a, 'l, O>) {
        let around = Surroundings {
            launch,
            observer: worker.observer,
            schedule: worker.schedule.as_mut(),
            slot: self.slot,
            block: self.index,
            shared: &mut self.shared,
            hints: worker.hints,
            arrivals: &mut self.arrivals,
            ticket: &mut self.ticket,
            clock: self.clock,
            warp_instructions: 0,
            lane_instructions: 0,
        };
        (&mut self.warps, around)
    }

    /// Runs the warps in turn until the block ends, or has had its share of warp instructions.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        worker: &mut Worker<'_, O>,
        statistics: &mut Statistics,
        share: u64,
    ) -> Slice {
        let (warps, mut around) = self.parts(launch, worker);
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
                Ok(_) => break Slice::Finished,
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
