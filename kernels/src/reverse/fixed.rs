//! Reversal with a static shared array: its size is in the kernel.

use cuda_std::prelude::*;

use super::{THREADS, through_tile};
use crate::number::Word;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// One-dimensional, blocks of exactly [`THREADS`] threads. The grid strides over the tiles.
///
/// # Safety
/// The crate's rules; `output` has n elements; the block is as stated.
#[kernel(
    instances(u32, u64),
    require(
        output.len() == input.len(),
        block.x == THREADS,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn reverse_static<T: Word>(input: &[T], output: *mut T) {
    // SAFETY: the array has a slot for each thread; the rest is the caller's promise.
    unsafe { through_tile(input, output, shared_array![T; THREADS as usize]) }
}
