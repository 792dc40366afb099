//! Exchange: a lock around a plain variable, taken by one thread of each block.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_exch_acquire_u32_device, atomic_store_release_32_device,
};
use cuda_std::prelude::*;

/// `counter += block + 1`, not atomically but under `lock`.
#[kernel]
pub unsafe fn locked_sum(lock: *mut u32, counter: *mut u64) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    while atomic_fetch_exch_acquire_u32_device(lock, 1) != 0 {
        thread::nanosleep(100);
    }
    let old = counter.read_volatile();
    counter.write_volatile(old + u64::from(thread::block_idx_x()) + 1);
    atomic_store_release_32_device(lock, 0);
}
