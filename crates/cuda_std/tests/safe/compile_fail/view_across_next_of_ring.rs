//! A ring returns one array at a time.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut ring: Ring<[u32; 256], 2>) {
    let before = ring.next(block, |i| i as u32);
    let after = ring.next(block, |i| 2 * i as u32);
    let _ = before[1] + after[1];
}

fn main() {}
