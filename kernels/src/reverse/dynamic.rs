//! Reversal with the dynamic shared array: its size comes with the launch.

use cuda_std::prelude::*;

use super::through_tile;
use crate::number::Word;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// One-dimensional, any block; dynamic shared memory of `block · size_of` bytes. The grid strides over the tiles.
///
/// # Safety
/// The crate's rules; `output` has n elements; the shared memory has that size.
#[kernel(
    instances(u32, u64),
    require(
        output.len() == input.len(),
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn reverse_dynamic<T: Word>(input: &[T], output: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { through_tile(input, output, shared::dynamic_shared_mem::<T>()) }
}
