//! Matrix product of padded copies of A and B, whose rows all start at whole memory sectors: for
//! extents that are not multiples of a vector.
//!
//! Rows of 4099 elements start at any address: no copy from them can move 16 bytes, and a run of
//! them touches one sector more than it fills. Copying both operands costs memory traffic of the
//! order of rows · inner; the product costs arithmetic of the order of rows · inner · cols.
//! [`sliced`](super::sliced) computes it from the copies, in one slice, and moves vectors. Tiles of
//! 128 × 64 are as fast as 128 × 128 at 4093 × 4099 × 4111; tiles of 128 × 256 take 1.2 times as
//! long, because there are 544 of them for 132 multiprocessors.
//!
//! The kernel that copies:
//!
//! - Loads: the threads of a block load neighbours in one row (coalesced). Each loads [`ITEMS`]
//!   elements, a block's width apart, all in flight together.
//! - Stores: likewise; a row is padded with zeros.

use cuda_std::prelude::*;

use super::policy::pitch;
use cuda_std::unroll::unrolled;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Elements of a row that a thread has in flight.
pub const ITEMS: usize = 4;

/// Copies A and B to rows that start [`pitch`] elements apart.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements.
/// - `of_a`: `rows · pitch(inner)` elements. `of_b`: `inner · pitch(cols)` elements.
///
/// # Launch
/// Blocks of [`THREADS`] threads; x runs over runs of `THREADS` · [`ITEMS`] elements of a row, y
/// over rows, z over A and B. The grid strides over x and y.
#[kernel(require(
    rows.checked_mul(inner) == Some(a.len()),
    inner.checked_mul(cols) == Some(b.len()),
    rows.checked_mul(pitch(inner)) == Some(of_a.len()),
    inner.checked_mul(pitch(cols)) == Some(of_b.len()),
    [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 2]
))]
pub fn matmul_pitch_f32(
    a: &[f32],
    b: &[f32],
    mut of_a: Out<f32>,
    mut of_b: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    // SAFETY: `require` states the matrices' and the copies' sizes, the block, and two layers of
    // blocks: one for each copy.
    unsafe {
        if thread::block_idx_z() == 0 {
            copy(a, of_a.as_mut_ptr(), rows, inner);
        } else {
            copy(b, of_b.as_mut_ptr(), inner, cols);
        }
    }
}

/// # Safety
/// `from` is a matrix of `rows · cols` elements, `to` has `rows · pitch(cols)`, and only these
/// blocks use `to`. All threads of a layer of blocks call it, and a block has [`THREADS`] along x.
#[inline(always)]
unsafe fn copy(from: &[f32], to: *mut f32, rows: usize, cols: usize) {
    if cols == 0 {
        // Without elements in a row, the number of rows may be too large to loop over.
        return;
    }
    let threads = THREADS as usize;
    let pitch = pitch(cols);
    let mut row = thread::block_idx_y() as usize;
    while row < rows {
        let mut left = thread::block_idx_x() as usize * threads * ITEMS;
        while left < pitch {
            let first = left + thread::thread_idx_x() as usize;
            let mut elements = [0.0; ITEMS];
            unrolled::<ITEMS>(|i| {
                let col = first + i * threads;
                if col < cols {
                    // SAFETY: inside the matrix.
                    elements[i] = unsafe { *from.get_unchecked(row * cols + col) };
                }
            });
            unrolled::<ITEMS>(|i| {
                let col = first + i * threads;
                if col < pitch {
                    // SAFETY: inside the row of the copy; only this thread has this row and column.
                    unsafe { to.wrapping_add(row * pitch + col).write(elements[i]) };
                }
            });
            left += thread::grid_dim_x() as usize * threads * ITEMS;
        }
        row += thread::grid_dim_y() as usize;
    }
}
