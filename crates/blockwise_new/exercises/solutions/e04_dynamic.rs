//! Exercise 4: a shared array as long as the block that the launch chooses.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Reverses the elements of each block; the last block may have fewer.
#[kernel(shared(tile = block.threads()), require(x.len() == y.len()))]
pub fn mirror(block: &mut Block, tile: Shared<[u32]>, x: &[u32], mut y: Out<u32>) {
    let threads = block.threads();
    let mut tile = tile.refill();
    for place in block.tiles(x.len()) {
        let first = place.start();
        let loaded = tile.fill(block, |slot| x.get(first + slot).copied().unwrap_or(0));
        let count = threads.min(x.len() - first);
        y.store(block, place, |i| loaded[count - 1 - (i - first)]);
    }
}
