//! Reverse along an axis: [`direct`](super::direct) for an array of outer × extent × inner elements.
//!
//! - Stores: coalesced, as in `direct`.
//! - Loads: runs of `inner` adjacent elements, and the whole row in descending order where `inner`
//!   is 1.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::direct::ITEMS;
use crate::number::Word;

/// output\[o, e, i\] = input\[o, extent − 1 − e, i\], for arrays of any number of rows of
/// `extent` × `inner` elements.
///
/// # Launch
/// One-dimensional blocks of any size. The grid strides over runs of block · [`ITEMS`] elements.
#[kernel(
    instances(u8, u16, u32, u64),
    require(
        input.len() == output.len(),
        input.is_empty() || extent.checked_mul(inner).is_some_and(|row| input.len().is_multiple_of(row))
    )
)]
pub fn reverse_along<T: Word>(
    block: &mut Block,
    input: &[T],
    mut output: Out<T, Strided<ITEMS>>,
    extent: usize,
    inner: usize,
) {
    for run in block.tiles_of(output.len()) {
        let mirrored = |i: usize| {
            let row = i.checked_div(inner).unwrap_or(0);
            let along = row % extent.max(1);
            // The mirrored row is extent − 1 − 2 · along rows further on; back, if that is
            // negative.
            let from = i.wrapping_add(
                extent
                    .wrapping_sub(1)
                    .wrapping_sub(2 * along)
                    .wrapping_mul(inner),
            );
            input.get(from).copied().unwrap_or_default()
        };
        output.store(block, run, mirrored);
    }
}
