//! Convolution in shared memory: tiles with a halo, and one block per output.

use cuda_std::prelude::*;

use crate::conv1d::taps_inside;
use crate::number::Real;
use cuda_std::unroll::in_groups;

/// Taps and samples whose loads a thread has in flight together.
const GROUP: usize = 32;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, summed in tap order.
///
/// Slot s of the tile gets sample `first + offset − (m − 1) + s`, or zero outside the signal;
/// thread t owns output `first + t`. A thread past the last output still loads its part of the halo
/// and arrives at both barriers.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m ≥ 1 taps.
/// - `offset`: see [the family](crate::conv1d).
///
/// # Launch
/// One-dimensional, any block; dynamic shared memory of `(block + m − 1) · size_of` bytes. The grid
/// strides over the tiles.
///
/// # Safety
/// The crate's rules; m is at least 1, and the shared memory has that size; `offset` plus the
/// output's length does not overflow.
#[kernel(
    instances(f32, f64),
    require(
        !taps.is_empty(),
        shared_bytes as usize >= (block.x as usize + taps.len() - 1) * size_of::<T>(),
        offset.checked_add(output.len()).is_some(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn conv1d_tiled_raw<T: Real>(signal: &[T], taps: &[T], output: *mut [T], offset: usize) {
    let tile = shared::dynamic_shared_mem::<T>();
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let halo = taps.len() - 1;
    let stride = thread::grid_dim_x() as usize * threads;

    let mut first = thread::block_idx_x() as usize * threads;
    // ANCHOR: everyone
    while first < output.len() {
        let start = (first + offset).wrapping_sub(halo);
        let mut slot = thread;
        while slot < threads + halo {
            // A negative index wraps to a huge one, which is outside the signal too.
            let at = start.wrapping_add(slot);
            // SAFETY: the sample's index is compared first; the launch allocates `threads + halo`
            // slots, and only this thread writes this one.
            unsafe {
                let sample = if at < signal.len() {
                    *signal.get_unchecked(at)
                } else {
                    T::ZERO
                };
                tile.add(slot).write(sample);
            }
            slot += threads;
        }
        // Orders every thread's loads of tile and halo before any thread's reads of them.
        thread::sync_threads();

        let i = first + thread;
        if i < output.len() {
            let mut sum = T::ZERO;
            in_groups::<GROUP>(taps_inside(i + offset, signal.len(), taps.len()), |k| {
                // SAFETY: k is a tap, so thread + halo - k is in 0..threads + halo; all slots have
                // been written.
                let (tap, sample) =
                    unsafe { (*taps.get_unchecked(k), tile.add(thread + halo - k).read()) };
                sum = tap.mul_add(sample, sum);
            });
            // SAFETY: i is below the output's length, and no other thread has this i.
            unsafe { output.cast::<T>().add(i).write(sum) };
        }
        first += stride;
        // Orders every thread's reads of this tile before any thread's loads of the next one.
        thread::sync_threads();
    }
    // ANCHOR_END: everyone
}

/// The full convolution of `signal` (n samples) with `taps` (m taps) into `output` (n + m − 1
/// elements): thread k writes the product of tap k to slot k, thread 0 sums the slots.
///
/// # Launch
/// One-dimensional, a block of m threads, so m is at most the device's limit; dynamic shared memory
/// of `m · 8` bytes. The grid strides over the outputs.
///
/// # Safety
/// The crate's rules; the block has exactly m ≥ 1 threads, and the shared memory has that size.
#[kernel(require(
    !taps.is_empty(),
    block.x as usize == taps.len(),
    shared_bytes as usize >= taps.len() * size_of::<f64>(),
    signal.len() + taps.len() == output.len() + 1,
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn conv1d_block_per_output_raw_f64(signal: &[f64], taps: &[f64], output: *mut f64) {
    let products = shared::dynamic_shared_mem::<f64>();
    let k = thread::thread_idx_x() as usize;
    let output_len = signal.len() + taps.len() - 1;

    let mut i = thread::block_idx_x() as usize;
    while i < output_len {
        // A negative index wraps to a huge one, which is outside the signal too.
        let at = i.wrapping_sub(k);
        // SAFETY: threads, slots and taps are equal in number; the sample's index is compared
        // first.
        unsafe {
            let product = if at < signal.len() {
                *taps.get_unchecked(k) * *signal.get_unchecked(at)
            } else {
                0.0
            };
            products.add(k).write(product);
        }
        // Orders every thread's product before thread 0 reads it.
        thread::sync_threads();

        if k == 0 {
            let mut sum = 0.0;
            for slot in 0..taps.len() {
                // SAFETY: below the number of slots, all of which have been written.
                sum += unsafe { products.add(slot).read() };
            }
            // SAFETY: i is below the output's length; only this block has this i.
            unsafe { output.add(i).write(sum) };
        }
        i += thread::grid_dim_x() as usize;
        // Orders thread 0's reads before any thread's next product.
        thread::sync_threads();
    }
}
