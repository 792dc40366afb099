//! Exercise 10: many blocks, one total.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 256;

/// total\[0\] += how many elements of `x` are multiples of 7. Any grid.
#[kernel(require(total.len() == 1))]
pub fn count_sevens(block: &mut Block<THREADS>, x: &[u32], total: Atomics<u32>) {
    let mut count = 0;
    for place in block.tiles(x.len()) {
        let element = x.get(place.start() + block.thread());
        count += block.sync_threads_count(element.is_some_and(|x| x % 7 == 0));
    }
    if block.thread() == 0 {
        total.add(0, count);
    }
}
