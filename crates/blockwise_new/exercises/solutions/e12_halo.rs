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
    tile: Shared<[u32; THREADS + 2 * RADIUS]>,
    x: &[u32],
    mut y: Out<u32>,
) {
    let thread = block.thread();
    let mut tile = tile.refill();
    for place in block.tiles(x.len()) {
        // Slot s holds x[start + s]. Left of x the index wraps to a huge number, outside x too.
        let start = place.start().wrapping_sub(RADIUS);
        let loaded = tile.fill(block, |slot| {
            x.get(start.wrapping_add(slot)).copied().unwrap_or(0)
        });
        y.store(block, place, |_| {
            let mut largest = 0;
            for slot in thread..=thread + 2 * RADIUS {
                largest = largest.max(loaded[slot]);
            }
            largest
        });
    }
}
