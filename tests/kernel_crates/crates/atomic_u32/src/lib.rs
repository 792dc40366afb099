//! Atomic bits and counters on `u32`, each ordering and scope a function of its own.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_and_relaxed_u32_device, atomic_fetch_dec_relaxed_u32_device,
    atomic_fetch_inc_relaxed_u32_device, atomic_fetch_or_acqrel_u32_system,
    atomic_fetch_xor_release_u32_device,
};
use cuda_std::prelude::*;

/// Conjunction, disjunction and parity of `values`; a counter upwards from `cells[3]` and one
/// downwards from `cells[4]`.
#[kernel]
pub unsafe fn atomic_bits(values: &[u32], cells: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        atomic_fetch_and_relaxed_u32_device(cells, values[i]);
        atomic_fetch_or_acqrel_u32_system(cells.add(1), values[i]);
        atomic_fetch_xor_release_u32_device(cells.add(2), values[i]);
        atomic_fetch_inc_relaxed_u32_device(cells.add(3));
        atomic_fetch_dec_relaxed_u32_device(cells.add(4));
    }
}
