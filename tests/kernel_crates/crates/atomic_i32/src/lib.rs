//! Atomic operations on `i32`, the ordering as an argument, in the device's scope.

use cuda_std::atomic::mid::{
    atomic_fetch_add_i32_device, atomic_fetch_max_i32_device, atomic_fetch_min_i32_device,
    atomic_fetch_sub_i32_device,
};
use cuda_std::atomic::Ordering::{AcqRel, Relaxed};
use cuda_std::prelude::*;

/// Sum, negated sum, minimum and maximum of `values` in `cells`, all threads at once.
#[kernel]
pub unsafe fn atomic_statistics(values: &[i32], cells: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        atomic_fetch_add_i32_device(cells, Relaxed, values[i]);
        atomic_fetch_sub_i32_device(cells.add(1), AcqRel, values[i]);
        atomic_fetch_min_i32_device(cells.add(2), Relaxed, values[i]);
        atomic_fetch_max_i32_device(cells.add(3), Relaxed, values[i]);
    }
}
