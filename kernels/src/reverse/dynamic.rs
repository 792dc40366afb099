//! Reverse with a dynamic shared array: the launch computes its size.
//!
//! Change from [`fixed`](super::fixed): the launch chooses the block size, which is the tile size.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use crate::number::Word;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// One-dimensional blocks of any size. The grid strides over the tiles.
// ANCHOR: kernel
#[kernel(
    instances(u32),
    shared(tile = block.threads()),
    require(input.len() == output.len())
)]
pub fn reverse_dynamic<T: Word>(
    block: &mut Block,
    tile: Shared<[T]>,
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
// ANCHOR_END: kernel
