//! An `unsafe` kernel may say that some threads miss a barrier, and takes the block and its arrays as safe ones do.

use cuda_std::prelude::*;

/// # Safety
/// Never launched.
#[kernel(allow_divergence = "all threads of a block take the same branch", shared(more = block.threads()))]
pub unsafe fn branches(block: &mut Block, tile: Shared<[f32; 32]>, more: Shared<[u8]>, out: *mut f32) {
    let _ = (block, tile, more, out);
}

fn main() {}
