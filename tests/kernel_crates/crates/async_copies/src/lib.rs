//! `async_copy`: the next tile arrives while this one is summed.

use cuda_std::async_copy::{cp_async_ca, cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;

const THREADS: usize = 64;

/// `out[t]` is the sum over `tiles` of element `63 - t`; one block of 64.
#[kernel]
pub unsafe fn pipelined_sums(input: *const f32, tiles: usize, out: *mut f32) {
    let buffers = shared_array![f32; 2 * THREADS];
    let t = thread::thread_idx_x() as usize;
    cp_async_ca(buffers.add(t), input.add(t));
    cp_async_commit_group();
    let mut sum = 0.0;
    for tile in 0..tiles {
        if tile + 1 < tiles {
            let next = buffers.add((tile + 1) % 2 * THREADS + t);
            cp_async_ca(next, input.add((tile + 1) * THREADS + t));
        }
        cp_async_commit_group();
        cp_async_wait_group::<1>();
        thread::sync_threads(); // everybody's part of this tile is there
        sum += *buffers.add(tile % 2 * THREADS + THREADS - 1 - t);
        thread::sync_threads(); // read before it is overwritten
    }
    *out.add(t) = sum;
}
