//! `binary_search` and `partition_point` in a sorted table.

use cuda_std::prelude::*;

/// For each key its place in `table`, or −1 − the place where it would go; and how many entries are
/// below it.
#[kernel]
pub unsafe fn look_up(table: &[f32], keys: &[f32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < keys.len() {
        let found = table.binary_search_by(|entry| entry.total_cmp(&keys[i]));
        *out.add(2 * i) = found.map_or_else(|at| -1 - at as i32, |at| at as i32);
        *out.add(2 * i + 1) = table.partition_point(|&entry| entry < keys[i]) as i32;
    }
}
