//! Shared memory as rust-cuda's main branch writes it: a static of `MaybeUninit`.

use core::mem::MaybeUninit;
use cuda_std::prelude::*;

const THREADS: usize = 64;

#[address_space(shared)]
static mut TILE: [MaybeUninit<f64>; THREADS] = [const { MaybeUninit::uninit() }; THREADS];

/// Each thread the mean of itself and its two neighbours in its block of 64, round the corner.
#[kernel]
pub unsafe fn ring_means(values: &[f64], out: *mut f64) {
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    TILE[t].write(values[i]);
    thread::sync_threads();
    let left = TILE[(t + THREADS - 1) % THREADS].assume_init();
    let right = TILE[(t + 1) % THREADS].assume_init();
    *out.add(i) = (left + values[i] + right) / 3.0;
}
