//! Exercise 12: a tile and its halo.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block, and outputs of a tile.
pub const THREADS: usize = 256;
/// Neighbours on each side.
pub const RADIUS: usize = 2;

/// y\[i\] = the largest of x\[i − RADIUS ..= i + RADIUS\], as far as those exist.
#[kernel(require(x.len() == y.len()))]
pub fn dilate(
    block: &mut Block<THREADS>,
    tile: Shared<[u32; THREADS]>,
    x: &[u32],
    mut y: Out<u32>,
) {
    let thread = block.thread();
    let mut tile = tile.refill();
    for place in block.tiles(x.len()) {
        // TODO: the windows of a tile's first and last outputs reach into the next tiles. The tile
        // needs room for them on both sides, and somebody has to load them.
        let start = place.start();
        let loaded = tile.fill(block, |slot| x.get(start + slot).copied().unwrap_or(0));
        let window = thread.saturating_sub(RADIUS)..THREADS.min(thread + RADIUS + 1);
        y.store(block, place, |_| {
            let mut largest = 0;
            for slot in window.clone() {
                largest = largest.max(loaded[slot]);
            }
            largest
        });
    }
}
