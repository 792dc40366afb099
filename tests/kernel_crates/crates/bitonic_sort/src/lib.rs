//! A bitonic sorting network in shared memory.

use cuda_std::prelude::*;

const COUNT: u32 = 512;

/// Sorts each 512 keys; blocks of 256.
#[kernel]
pub unsafe fn bitonic_sort(keys: *mut u32) {
    let line = shared_array![u32; COUNT as usize];
    let keys = keys.add((thread::block_idx_x() * COUNT) as usize);
    let t = thread::thread_idx_x();
    for at in [t, t + COUNT / 2] {
        *line.add(at as usize) = *keys.add(at as usize);
    }
    let mut size = 2;
    while size <= COUNT {
        let mut distance = size / 2;
        while distance > 0 {
            thread::sync_threads();
            let low = 2 * t - (t & (distance - 1));
            let (a, b) = (line.add(low as usize), line.add((low + distance) as usize));
            let upwards = low & size == 0;
            if (*a > *b) == upwards {
                core::ptr::swap(a, b);
            }
            distance /= 2;
        }
        size *= 2;
    }
    thread::sync_threads();
    for at in [t, t + COUNT / 2] {
        *keys.add(at as usize) = *line.add(at as usize);
    }
}
