//! Exercise 9: the lanes of a warp read each other's registers.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 128;

/// Running sums within each group of 32 elements: y\[i\] = the sum from the group's first element
/// to x\[i\].
#[kernel(require(x.len() == y.len()))]
pub fn running_sums(block: &mut Block<THREADS>, x: &[u32], mut y: Out<u32>) {
    for place in block.tiles(x.len()) {
        let at = place.start() + block.thread();
        let sum = x.get(at).copied().unwrap_or(0);
        // TODO: five rounds, with delta = 1, 2, 4, 8, 16. In each, `warp.shuffle_up(sum, delta)`
        // gives each lane the `sum` of the lane `delta` below it; `block.warp()` is the warp. Lanes
        // 0 to `delta` − 1 have no such neighbour, but must take part in the shuffle.
        y.store(block, place, |_| sum);
    }
}
