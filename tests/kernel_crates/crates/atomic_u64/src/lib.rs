//! Atomic operations on `u64`: sums that leave 32 bits, tickets.

use cuda_std::atomic::mid::{atomic_fetch_add_u64_device, atomic_fetch_max_u64_device};
use cuda_std::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use cuda_std::prelude::*;

/// `cells`: a sum of squares, the greatest, a number of tickets. `tickets[k]` is 1 + the thread
/// that drew ticket `k`.
#[kernel]
pub unsafe fn atomic_squares(values: &[u32], cells: *mut u64, tickets: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        let square = u64::from(values[i]) * u64::from(values[i]);
        atomic_fetch_add_u64_device(cells, Relaxed, square);
        atomic_fetch_max_u64_device(cells.add(1), AcqRel, square);
        let ticket = atomic_fetch_add_u64_device(cells.add(2), SeqCst, 1);
        *tickets.add(ticket as usize) = i as u32 + 1;
    }
}
