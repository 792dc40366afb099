//! Seeded thread orders: the next thing to run is chosen pseudo-randomly, and the same seed always
//! gives the same order.
//!
//! A schedule replaces the emulator's default order wherever PTX leaves the order open: which block
//! starts or continues next, which warp, which of its lanes, and the number of instructions until
//! the next switch, which often follows an atomic operation. Lanes of a warp are also split at
//! random, because PTX does not guarantee lockstep.

/// Maximum instructions per turn.
const STRETCH: u64 = 48;
/// Warp instructions of a block before a switch: fewer than 2 to a power up to this.
const BLOCK_STRETCH: u64 = 10;
/// Maximum backward branches per turn.
const LOOPS: u64 = 8;
/// One turn in this many splits the lanes.
const PARTING: u64 = 8;
/// One turn in this many ends after its first atomic operation, and the block's with it. What only
/// goes wrong while two blocks are between the same two operations is rare otherwise.
const BETWEEN: u64 = 2;

/// A source of decisions.
#[derive(Clone)]
pub(super) struct Schedule {
    state: u64,
    /// The `i`th block to start is number `(i * step + first) % blocks`.
    step: u64,
    first: u64,
    blocks: u64,
    /// The running block gives way after this turn of a warp.
    gives_way: bool,
}

impl Schedule {
    pub(super) fn new(seed: u64, blocks: u64) -> Self {
        let mut schedule = Self {
            state: seed,
            step: 1,
            first: 0,
            blocks: blocks.max(1),
            gives_way: false,
        };
        let blocks = schedule.blocks;
        schedule.first = schedule.below(blocks);
        let start = schedule.below(blocks);
        // A step coprime to the number of blocks visits each block once; 1 always is.
        schedule.step = (start..start.saturating_add(blocks))
            .find(|&step| common_factor(step, blocks) == 1)
            .unwrap_or(1);
        schedule
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`, which must be non-zero.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// An index below `count`, which must be non-zero.
    pub(super) fn pick(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// The number of the block to start at this position.
    pub(super) fn block(&self, position: u64) -> u64 {
        let number = u128::from(position) * u128::from(self.step) + u128::from(self.first);
        (number % u128::from(self.blocks)) as u64
    }

    /// Warp instructions for a block's turn: short turns as often as long ones, because critical
    /// sections are short.
    pub(super) fn block_stretch(&mut self) -> u64 {
        let most = 1 << self.below(BLOCK_STRETCH + 1);
        1 + self.below(most)
    }

    /// Instructions for a warp's turn.
    pub(super) fn stretch(&mut self) -> u32 {
        1 + self.below(STRETCH) as u32
    }

    /// Whether a warp's turn ends after an atomic operation.
    pub(super) fn ends_between(&mut self) -> bool {
        let ends = self.below(BETWEEN) == 0;
        self.gives_way |= ends;
        ends
    }

    /// Whether the block's turn ends, too.
    pub(super) fn gives_way(&mut self) -> bool {
        std::mem::take(&mut self.gives_way)
    }

    /// Backward branches for a warp's turn.
    pub(super) fn loops(&mut self) -> u32 {
        self.below(LOOPS) as u32
    }

    /// The lanes of `mask` that run now: all or some of them.
    pub(super) fn part(&mut self, mask: u32) -> u32 {
        if self.below(PARTING) > 0 {
            return mask;
        }
        let some = mask & self.next() as u32;
        if some == 0 { mask } else { some }
    }

    /// Shuffles a list.
    pub(super) fn shuffle(&mut self, items: &mut [usize]) {
        for end in (2..=items.len()).rev() {
            let at = self.pick(end);
            items.swap(at, end - 1);
        }
    }
}

fn common_factor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_starts_once() {
        for blocks in [1, 2, 3, 4, 12, 97, 360, 1024] {
            for seed in 0..20 {
                let schedule = Schedule::new(seed, blocks);
                let mut numbers: Vec<u64> = (0..blocks).map(|at| schedule.block(at)).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, (0..blocks).collect::<Vec<u64>>(), "seed {seed}");
            }
        }
    }

    #[test]
    fn seeds_give_different_orders_and_each_its_own_again() {
        let order = |seed| {
            let mut items: Vec<usize> = (0..16).collect();
            Schedule::new(seed, 1).shuffle(&mut items);
            items
        };
        assert_eq!(order(5), order(5));
        assert_ne!(order(5), order(6));
    }

    #[test]
    fn parted_lanes_are_some_of_the_mask() {
        let mut schedule = Schedule::new(3, 1);
        let mut parted = 0;
        for _ in 0..1000 {
            let now = schedule.part(0x0000_ff00);
            assert!(now != 0 && now & !0x0000_ff00 == 0);
            parted += u32::from(now != 0x0000_ff00);
        }
        assert!((50..250).contains(&parted), "{parted}");
    }
}
