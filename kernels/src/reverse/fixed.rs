//! Reverse with a static shared array: its size is in the kernel's signature.
//!
//! - Loads: thread t puts input\[start + t\] into slot t, for the tile that begins at `start`.
//! - Stores: the tile lands at the mirrored place, counted from the output's end ([`FromEnd`]);
//!   thread t writes the t-th element there, which is the one with `rest` elements after it. Both
//!   walks are coalesced; a warp reads its slots backwards, one in each bank.
//! - `fill` has two barriers: every thread's reads of the last tile, if there was one, come before
//!   the writes of this one, and these before its reads.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::THREADS;
use crate::number::Word;

const SIZE: usize = THREADS as usize;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// Blocks of exactly [`THREADS`] threads. The grid strides over the tiles.
#[kernel(instances(u32, u64), require(input.len() == output.len()))]
pub fn reverse_static<T: Word>(
    block: &mut Block<SIZE>,
    tile: Shared<[T; SIZE]>,
    input: &[T],
    mut output: Out<T, FromEnd>,
) {
    let mut tile = tile.refill();
    for place in block.tiles(output.len()) {
        let at = |i: usize| input.get(place.start() + i).copied().unwrap_or_default();
        let loaded = tile.fill(block, at);
        output.store(block, place, |rest| loaded[rest]);
    }
}
