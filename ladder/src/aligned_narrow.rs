//! The transpose `aligned` with tiles of half the width: what the width is worth.
//!
//! A block has 256 threads and half the shared memory, for devices with fewer of either. Its figures
//! are in [`aligned`](crate::kernels::transpose::aligned).

use cuda_std::prelude::*;

use crate::kernels::number::Word;
use crate::kernels::transpose::aligned::{ALIGN, ROWS, Tile, share, through_multiples};

/// 256 bytes a row.
pub const TILE: Tile = Tile { threads: 256 };

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// One-dimensional blocks of [`TILE`]'s threads; x runs over rows of `input`, y over columns, in
/// tiles of [`ROWS`] rows and the tile's columns. The grid strides over both.
#[kernel(
    instances(u32, u64),
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [TILE.threads, 1, 1, 1]
    )
)]
pub fn transpose_aligned_narrow<T: Word>(
    input: &[T],
    mut output: Out<T>,
    rows: usize,
    cols: usize,
) {
    const COLS: usize = TILE.cols::<T>() as usize;
    const THREADS: usize = TILE.threads as usize;
    let tile = shared_array![T; TILE.slots::<T>() as usize];
    // SAFETY: `require` states the matrices' sizes, the block and one layer of blocks; the tile has
    // its slots.
    unsafe {
        through_multiples::<T, THREADS, COLS, { share::<T>(ROWS + ALIGN) }, { share::<T>(ROWS) }>(
            input,
            output.as_mut_ptr(),
            [rows, cols],
            tile,
        )
    }
}
