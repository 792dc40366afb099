//! Array reversal: output\[n − 1 − i\] = input\[i\].
//!
//! The smallest kernels that need shared memory and a barrier: a block reverses a tile in shared memory, so that global memory is
//! read and written in order. [`fixed`] and [`dynamic`] differ in who decides the tile's size; [`direct`] shows that this work needs neither. By
//! width, as [`transpose`](crate::transpose).

pub mod direct;
pub mod dynamic;
pub mod fixed;

use cuda_std::prelude::*;

/// Threads of a block, and elements of a tile, in [`fixed`]; what the others take unless they are told.
pub const THREADS: u32 = 256;

/// Reverses every tile of this block's share; a tile has as many elements as the block has threads.
///
/// - Loads: thread t puts input\[first + t\] into slot t.
/// - Stores: the tile's `count` elements land at the mirrored place, from n − first − count on; thread t writes the t-th of them, which is
///   slot count − 1 − t. Both walks are coalesced; a warp reads its slots backwards, one in each bank.
///
/// # Safety
/// `output` has as many elements as `input`; `tile` has a slot of shared memory for each thread of the block.
#[inline(always)]
unsafe fn through_tile<T: Copy>(input: &[T], output: *mut T, tile: *mut T) {
    let n = input.len();
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let mut first = thread::block_idx_x() as usize * threads;
    while first < n {
        let count = if n - first < threads {
            n - first
        } else {
            threads
        };
        if thread < count {
            // SAFETY: first + thread is below n; this thread alone writes this slot.
            unsafe { tile.add(thread).write(*input.get_unchecked(first + thread)) };
        }
        // Every thread's load comes before another thread's read of that slot.
        thread::sync_threads();
        if thread < count {
            // SAFETY: the slot was loaded; the mirrored places of different tiles don't overlap.
            unsafe {
                output
                    .add(n - first - count + thread)
                    .write(tile.add(count - 1 - thread).read())
            };
        }
        first += thread::grid_dim_x() as usize * threads;
        // Every thread's read of this tile comes before any thread's load of the next one.
        thread::sync_threads();
    }
}
