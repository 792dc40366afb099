//! `sort_unstable` and its like in one thread.

use cuda_std::prelude::*;

/// Each thread sorts `n` numbers of its own, the odd threads downwards.
#[kernel]
pub unsafe fn sorted_rows(data: *mut i32, n: usize, rows: u32) {
    let row = thread::index_1d();
    if row >= rows {
        return;
    }
    let own = core::slice::from_raw_parts_mut(data.add(row as usize * n), n);
    if row % 2 == 0 {
        own.sort_unstable();
    } else {
        own.sort_unstable_by(|a, b| b.cmp(a));
    }
}
