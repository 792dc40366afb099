//! `AtomicF32`.

use cuda_std::atomic::{AtomicF32, Ordering};
use cuda_std::prelude::*;

/// Sum, negated sum, minimum and maximum. Small integers: their sums are exact in any order.
#[kernel]
pub unsafe fn atomic_float_statistics(values: &[f32], cells: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        AtomicF32::from_ptr(cells).fetch_add(values[i], Ordering::Relaxed);
        AtomicF32::from_ptr(cells.add(1)).fetch_sub(values[i], Ordering::Relaxed);
        AtomicF32::from_ptr(cells.add(2)).fetch_min(values[i], Ordering::AcqRel);
        AtomicF32::from_ptr(cells.add(3)).fetch_max(values[i], Ordering::Relaxed);
    }
}
