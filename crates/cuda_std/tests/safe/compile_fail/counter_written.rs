//! A counter that all threads share changes only by atomic operations.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, counts: Atomics<u32>) {
    counts[0] = 1;
    let _ = block;
}

fn main() {}
