//! `core::mem` and `core::ptr`: swap, replace, take, copies that overlap.

use core::{mem, ptr};
use cuda_std::prelude::*;

/// Each thread's eight numbers: the ends swapped, four moved by one place, one taken, one replaced.
#[kernel]
pub unsafe fn memory_moves(data: *mut u64) {
    let own = data.add(8 * thread::index_1d() as usize);
    ptr::swap(own, own.add(7));
    ptr::copy(own.add(1), own.add(2), 4);
    let taken = mem::take(&mut *own.add(1));
    let replaced = mem::replace(&mut *own.add(6), taken);
    let mut pair = (replaced, *own.add(7));
    mem::swap(&mut pair.0, &mut *own);
    ptr::write_bytes(own.add(5).cast::<u8>(), 0x5A, 4);
    *own.add(7) = pair.0 + pair.1;
}
