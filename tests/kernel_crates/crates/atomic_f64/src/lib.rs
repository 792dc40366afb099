//! `AtomicF64` as the type of a parameter.

use cuda_std::atomic::{AtomicF64, Ordering};
use cuda_std::prelude::*;

/// `bins[i % 3]` gets `values[i]`; `bins[3]` the bits of all by exclusive or.
#[kernel]
pub unsafe fn three_sums(values: &[f64], bins: &[AtomicF64]) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        bins[i % 3].fetch_add(values[i], Ordering::Relaxed);
        bins[3].fetch_xor(values[i], Ordering::Relaxed);
    }
}
