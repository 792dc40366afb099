//! Compare and swap: a list that all threads push to.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_cas_acqrel_u32_device, atomic_load_relaxed_32_device,
};
use cuda_std::prelude::*;

/// Every thread puts its number in front of the list whose first element is `head` (`u32::MAX`:
/// none).
#[kernel]
pub unsafe fn push_all(count: u32, head: *mut u32, next: *mut u32) {
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let mut first = atomic_load_relaxed_32_device(head);
    loop {
        *next.add(i as usize) = first;
        let found = atomic_fetch_cas_acqrel_u32_device(head, first, i);
        if found == first {
            break;
        }
        first = found;
    }
}
