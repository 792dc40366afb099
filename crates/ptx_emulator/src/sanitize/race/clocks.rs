//! Logical time and the order that it implies.
//!
//! Each warp has a clock that advances at every event that other threads can wait for. What a
//! thread did before a time is ordered before everything done by threads that know that time. A
//! barrier of the whole block sets all its warps to the same time, and orders everything before it:
//! [`Block::since`]. `bar.warp.sync` of all lanes does the same for a warp. Any other order between
//! threads, from barriers of some threads or through memory, is kept in vector clocks per lane;
//! most programs need none.

use super::chains::{Chains, Past};
use super::cover::Cover;
use super::locks::Hold;
use super::record::Record;
use super::vector_clock::{Shared, union};
use crate::exec::lanes;
use std::ops::Range;
use std::sync::Arc;

/// The clocks of a running block.
#[derive(Default)]
pub(super) struct Block {
    /// Number of its first warp in the launch.
    first: u32,
    /// Accesses by threads of the block before this time are ordered before those that any of them
    /// makes now.
    since: u32,
    /// The same as a past that can be published.
    met: Option<Arc<Past>>,
    warps: Vec<Warp>,
    threads: u32,
    /// One per thread, if barriers of the block and of whole warps are not the only order.
    lanes: Vec<Lane>,
}

#[derive(Clone, Default)]
struct Warp {
    time: u32,
    /// Accesses by threads of the warp before this time are ordered before those that any of them
    /// makes now.
    since: u32,
    /// The same as a past that can be published, if it is more than the block's.
    met: Option<Arc<Past>>,
}

/// The vector clocks of a lane. Pairs are for block scope first, then for device scope.
#[derive(Clone, Default)]
pub(super) struct Lane {
    /// What is ordered before the lane's next access.
    pub(super) knows: Shared,
    /// Its past at its last fence, which its strong writes publish.
    pub(super) fenced: [Option<Arc<Past>>; 2],
    /// What its strong reads have learned; takes effect at the next fence.
    pub(super) acquired: [Shared; 2],
    /// The same from atomics that also wrote.
    pub(super) claimed: Shared,
    /// Its last read: the location, whether it was an acquire, and the result. A spinning lane
    /// reads the same again and again.
    pub(super) latest: (u64, bool, [Shared; 2]),
    /// The locks that it has taken.
    pub(super) holds: Vec<Hold>,
    /// What would also be ordered before its next access if warp-level exchanges passed on what one
    /// lane has acquired.
    heard: Shared,
}

/// What some lanes contribute at a barrier.
#[derive(Clone, Default)]
pub(super) struct Contribution {
    past: Option<Arc<Past>>,
    fenced: [Option<Arc<Past>>; 2],
}

/// A warp that is accessing memory.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) time: u32,
    pub(super) warp: u32,
    pub(super) pc: u32,
    /// Records every access not known to be ordered, instead of only those needed for block
    /// barriers.
    pub(super) keeps_all: bool,
    first: u32,
    warps: u32,
    block_since: u32,
    warp_since: u32,
}

impl Block {
    /// Starts a block, with no earlier accesses.
    pub(super) fn begin(&mut self, number: u64, threads: u32, exact: bool) {
        let warps = threads.div_ceil(32);
        self.first = (number as u32).wrapping_mul(warps);
        self.since = 1;
        self.met = None;
        self.threads = threads;
        let warp = Warp {
            time: 1,
            since: 1,
            met: None,
        };
        self.warps.clear();
        self.warps.resize(warps as usize, warp);
        self.lanes.clear();
        if exact {
            self.follow_lanes();
        }
    }

    fn follow_lanes(&mut self) {
        self.lanes.resize(self.threads as usize, Lane::default());
    }

    fn is_exact(&self) -> bool {
        !self.lanes.is_empty()
    }

    pub(super) fn now(&self, warp: u32, pc: u32) -> Now {
        let clock = &self.warps[warp as usize];
        Now {
            time: clock.time,
            warp: self.first.wrapping_add(warp),
            pc,
            keeps_all: self.is_exact(),
            first: self.first,
            warps: self.warps.len() as u32,
            block_since: self.since,
            warp_since: clock.since,
        }
    }

    /// The numbers of its warps in the launch.
    pub(super) fn range(&self) -> Range<u32> {
        self.first..self.first.wrapping_add(self.warps.len() as u32)
    }

    /// The lanes of a warp that exist.
    fn exist(&self, warp: u32) -> u32 {
        let threads = self.threads - 32 * warp;
        u32::MAX >> (32 - threads.min(32))
    }

    /// A warp's time.
    pub(super) fn time(&self, warp: u32) -> u32 {
        self.warps[warp as usize].time
    }

    pub(super) fn lane(&mut self, warp: u32, lane: usize) -> Option<&mut Lane> {
        self.lanes.get_mut(32 * warp as usize + lane)
    }

    /// The lanes of a record that nothing orders before a lane's access in `warp`.
    pub(super) fn unordered(
        &self,
        chains: &Chains,
        (warp, lane): (u32, usize),
        record: &Record,
        rest: u32,
    ) -> u32 {
        match self.lanes.get(32 * warp as usize + lane) {
            Some(lane) => {
                let anyway = lane.holds.iter().find_map(Hold::knew_anyway);
                chains.unknown(anyway.unwrap_or(&lane.knows), record, rest)
            }
            None => rest,
        }
    }

    /// The same if exchanges of a warp ordered memory: see [`handed`](super::handed).
    pub(super) fn unheard(
        &self,
        chains: &Chains,
        (warp, lane): (u32, usize),
        record: &Record,
        rest: u32,
    ) -> u32 {
        match self.lanes.get(32 * warp as usize + lane) {
            Some(lane) => chains.unknown(&lane.heard, record, rest),
            None => rest,
        }
    }

    /// The atomic by which a lane took a lock that does not protect what it does now.
    pub(super) fn unprotected(&self, warp: u32, lane: usize, wide: bool) -> Option<u32> {
        let lane = self.lanes.get(32 * warp as usize + lane)?;
        let mut holds = lane.holds.iter();
        let open = |hold: &&Hold| {
            hold.unprotected(wide)
                .is_some_and(|window| window.to == u32::MAX)
        };
        holds.find(open).map(|hold| hold.pc)
    }

    /// Whether a lane would know an access after a fence.
    pub(super) fn without_fence(
        &self,
        chains: &Chains,
        (warp, lane): (u32, usize),
        record: &Record,
        of: usize,
    ) -> bool {
        let Some(lane) = self.lanes.get(32 * warp as usize + lane) else {
            return false;
        };
        let mut read = lane.acquired.iter().chain([&lane.claimed]);
        read.any(|read| chains.unknown(read, record, 1 << of) == 0)
    }

    /// Whether a lane knows some event of another lane that came before an access of it.
    pub(super) fn knows_before(
        &self,
        chains: &Chains,
        (warp, lane): (u32, usize),
        record: &Record,
        of: usize,
    ) -> bool {
        let lane = self.lanes.get(32 * warp as usize + lane);
        lane.is_some_and(|lane| chains.knows_before(&lane.knows, record, of))
    }

    /// Lanes exchange what one of them has acquired.
    pub(super) fn hear(&mut self, warp: u32, mask: u32) {
        let known = self.lanes_of(warp, mask);
        let heard = union(known.flat_map(|lane| [&lane.knows, &lane.heard]));
        for at in lanes(mask) {
            if let Some(lane) = self.lane(warp, at) {
                lane.heard.clone_from(&heard);
            }
        }
    }

    /// Advances the clock of a warp that publishes its past.
    pub(super) fn tick(&mut self, warp: u32) {
        self.warps[warp as usize].time += 1;
    }

    /// Everything ordered before the next accesses of some lanes, including their own.
    pub(super) fn past(&self, chains: &mut Chains, warp: u32, mask: u32) -> Past {
        let clock = &self.warps[warp as usize];
        for met in [&self.met, &clock.met].into_iter().flatten() {
            met.publish(chains);
        }
        let lanes = self.lanes_of(warp, mask);
        let knows = Self::known(lanes, [&self.met, &clock.met]);
        Past::new(knows, vec![self.cover(warp, mask)])
    }

    /// What some lanes know, including through their fences and barriers.
    fn known<'a>(
        lanes: impl Iterator<Item = &'a Lane> + Clone,
        met: impl IntoIterator<Item = &'a Option<Arc<Past>>>,
    ) -> Shared {
        let pasts = lanes.clone().flat_map(|lane| &lane.fenced).chain(met);
        let pasts: Vec<Shared> = pasts.flatten().map(|past| past.known()).collect();
        union(lanes.map(|lane| &lane.knows).chain(&pasts))
    }

    /// The accesses of some lanes up to now.
    fn cover(&self, warp: u32, lanes: u32) -> Cover {
        Cover {
            warp: self.first.wrapping_add(warp),
            lanes,
            time: self.warps[warp as usize].time,
            since: 0,
        }
    }

    fn lanes_of(&self, warp: u32, mask: u32) -> impl Iterator<Item = &Lane> + Clone {
        let lanes = lanes(mask);
        lanes.filter_map(move |lane| self.lanes.get(32 * warp as usize + lane))
    }

    /// Lanes arrive at a barrier.
    pub(super) fn arrive(&mut self, chains: &mut Chains, warp: u32, mask: u32) -> Contribution {
        let contribution = Contribution {
            past: Some(Arc::new(self.past(chains, warp, mask))),
            fenced: self.fenced(warp, mask),
        };
        self.tick(warp);
        contribution
    }

    fn fenced(&self, warp: u32, mask: u32) -> [Option<Arc<Past>>; 2] {
        [0, 1].map(|at| Past::union(self.lanes_of(warp, mask).map(|lane| &lane.fenced[at])))
    }

    /// Lanes leave a barrier with the contributions of all participants, including their own.
    pub(super) fn leave(
        &mut self,
        chains: &mut Chains,
        contribution: &Contribution,
        warp: u32,
        mask: u32,
    ) {
        let knows = contribution.past.as_ref().map(|past| past.publish(chains));
        self.give(&knows, &contribution.fenced, warp, mask);
    }

    fn give(&mut self, knows: &Shared, fenced: &[Option<Arc<Past>>; 2], warp: u32, mask: u32) {
        for at in lanes(mask) {
            if let Some(lane) = self.lane(warp, at) {
                lane.knows.clone_from(knows);
                lane.fenced.clone_from(fenced);
            }
        }
    }

    /// All threads have synchronised.
    pub(super) fn meet(&mut self) {
        let latest = self.warps.iter().map(|warp| warp.time).max();
        let time = latest.unwrap_or(0) + 1;
        if self.is_exact() {
            self.meet_exactly(time - 1);
        }
        self.since = time;
        let (since, met) = (time, None);
        self.warps.fill(Warp { time, since, met });
    }

    /// All lanes learn what each of them knows and did before a time.
    fn meet_exactly(&mut self, time: u32) {
        let met = self.warps.iter().map(|warp| &warp.met).chain([&self.met]);
        let known = Self::known(self.lanes.iter(), met);
        // PTX requires a fence after an atomic for others to rely on its result; CUDA's own samples
        // have only the barrier.
        let claimed = self.lanes.iter().map(|lane| &lane.claimed);
        let knows = union(claimed.chain([&known]));
        let fenced = [0, 1].map(|at| Past::union(self.lanes.iter().map(|lane| &lane.fenced[at])));
        for lane in &mut self.lanes {
            lane.knows.clone_from(&knows);
            lane.fenced.clone_from(&fenced);
            (lane.claimed, lane.heard) = (None, None);
            lane.holds
                .iter_mut()
                .for_each(|hold| hold.acquire(true, time));
        }
        let before = |warp| Cover {
            warp,
            lanes: u32::MAX,
            time,
            since: 0,
        };
        let past = Past::new(knows, self.range().map(before).collect());
        self.met = Some(Arc::new(past));
    }

    /// Lanes of a warp have synchronised.
    pub(super) fn warp_meets(&mut self, chains: &mut Chains, warp: u32, mask: u32) {
        if mask != self.exist(warp) {
            if !self.is_exact() {
                self.follow_lanes();
            }
            let contribution = self.arrive(chains, warp, mask);
            self.leave(chains, &contribution, warp, mask);
            return;
        }
        if self.is_exact() {
            let before = &self.warps[warp as usize].met;
            let knows = Self::known(self.lanes_of(warp, mask), [before]);
            let fenced = self.fenced(warp, mask);
            self.give(&knows, &fenced, warp, mask);
            let met = Past::new(knows, vec![self.cover(warp, mask)]);
            self.warps[warp as usize].met = Some(Arc::new(met));
        }
        let clock = &mut self.warps[warp as usize];
        clock.time += 1;
        clock.since = clock.time;
    }
}

impl Contribution {
    pub(super) fn union(contributions: &[Contribution]) -> Self {
        Self {
            past: Past::union(contributions.iter().map(|contribution| &contribution.past)),
            fenced: [0, 1].map(|at| {
                Past::union(
                    contributions
                        .iter()
                        .map(|contribution| &contribution.fenced[at]),
                )
            }),
        }
    }
}

impl Now {
    #[inline(always)]
    pub(super) fn record(&self, lanes: u32, writes: bool) -> Record {
        Record::new(self.time, self.warp, lanes, self.pc, writes)
    }

    /// The same time at another instruction.
    pub(super) fn at(self, pc: u32) -> Self {
        Self { pc, ..self }
    }

    /// The warp's number in its block.
    pub(super) fn warp_in_block(&self) -> u32 {
        self.warp.wrapping_sub(self.first)
    }

    /// Whether a barrier of the block or the warp orders an access before the current one.
    #[inline(always)]
    pub(super) fn follows(&self, record: &Record) -> bool {
        let since = if record.warp == self.warp {
            self.warp_since
        } else {
            self.block_since
        };
        record.lanes == 0 || self.shares_block(record) && record.time < since
    }

    /// Whether the access was made by the only lane in `lanes`.
    #[inline(always)]
    pub(super) fn is_own(&self, record: &Record, lanes: u32) -> bool {
        record.warp == self.warp
            && record.lanes == lanes
            && lanes & (lanes - 1) == 0
            && record.time <= self.time
    }

    #[inline(always)]
    pub(super) fn shares_block(&self, record: &Record) -> bool {
        record.warp.wrapping_sub(self.first) < self.warps
    }
}
