//! Reverse with a static shared array: its size is in the kernel's signature.
//!
//! - Loads: thread t puts input\[start + t\] into slot t, for the tile that starts at `start`.
//! - Stores: the tile goes to the mirrored position, counted from the output's end ([`FromEnd`]);
//!   thread t writes the t-th element there, the one with `rest` elements after it. Loads and
//!   stores are coalesced; a warp reads its slots in descending order, one per bank.
//! - `fill` has two barriers: the first orders every thread's reads of the previous tile before the
//!   writes of this one, the second these writes before the reads.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::THREADS;
use crate::number::Word;

const SIZE: usize = THREADS as usize;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// Blocks of exactly [`THREADS`] threads. The grid strides over the tiles.
#[kernel(instances(u32), require(input.len() == output.len()))]
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
