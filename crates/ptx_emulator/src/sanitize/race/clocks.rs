//! Time, and what is ordered by it.
//!
//! Each warp has a clock, which moves on when something happens that other threads can wait for. What a thread did
//! before a time is ordered before everything that happens to those who have heard of that time. After a barrier of the
//! whole block all its warps show the same time, and what any of them did before is ordered: [`Block::since`].

use super::shadow::Record;

/// The clocks of a running block.
#[derive(Clone, Default)]
pub(super) struct Block {
    /// The number of its first warp in the launch.
    pub(super) first: u32,
    /// What threads of the block did before this time is ordered before what any of them does now.
    pub(super) since: u32,
    pub(super) warps: Vec<Warp>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Warp {
    pub(super) time: u32,
    /// What threads of the warp did before this time is ordered before what any of them does now.
    pub(super) since: u32,
}

/// A warp that accesses memory now.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) time: u32,
    pub(super) warp: u32,
    pub(super) pc: u32,
    /// Every access is remembered that is not known to be ordered, not only as many as barriers of the block ask for.
    pub(super) keeps_all: bool,
    first: u32,
    warps: u32,
    block_since: u32,
    warp_since: u32,
}

impl Block {
    /// A block that begins: nothing has happened in it.
    pub(super) fn begin(&mut self, number: u64, warps: u32) {
        self.first = (number as u32).wrapping_mul(warps);
        self.since = 1;
        self.warps.clear();
        self.warps
            .resize(warps as usize, Warp { time: 1, since: 1 });
    }

    pub(super) fn now(&self, warp: u32, pc: u32) -> Now {
        let clock = self.warps[warp as usize];
        Now {
            time: clock.time,
            warp: self.first.wrapping_add(warp),
            pc,
            keeps_all: false,
            first: self.first,
            warps: self.warps.len() as u32,
            block_since: self.since,
            warp_since: clock.since,
        }
    }

    /// All threads have met.
    pub(super) fn meet(&mut self) {
        let latest = self.warps.iter().map(|warp| warp.time).max();
        let time = latest.unwrap_or(0) + 1;
        self.since = time;
        self.warps.fill(Warp { time, since: time });
    }

    /// All lanes of a warp have met.
    pub(super) fn warp_meets(&mut self, warp: u32) {
        let clock = &mut self.warps[warp as usize];
        clock.time += 1;
        clock.since = clock.time;
    }
}

impl Now {
    #[inline(always)]
    pub(super) fn record(&self, lanes: u32, writes: bool) -> Record {
        Record::new(self.time, self.warp, lanes, self.pc, writes)
    }

    /// Whether a barrier of the block or of the warp orders an access before what happens now.
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
