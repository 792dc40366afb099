//! `mem::dynamic_smem_size` and `total_smem_size`.

use cuda_std::{mem, prelude::*};

/// One block: bytes of dynamic shared memory, and whether the total is at least that and 256 of its
/// own.
#[kernel]
pub unsafe fn shared_bytes(out: *mut u32) {
    let own = shared_array![u64; 32];
    own.add(thread::thread_idx_x() as usize).write_volatile(1);
    if thread::thread_idx_x() == 0 {
        *out = mem::dynamic_smem_size();
        *out.add(1) = u32::from(mem::total_smem_size() >= mem::dynamic_smem_size() + 256);
    }
}
