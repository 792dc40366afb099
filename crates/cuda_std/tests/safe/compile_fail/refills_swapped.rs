//! After the swap, threads disagree about which array is which: arrays for loops.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, a: Shared<[u32; 256]>, b: Shared<[u32; 256]>) {
    let (mut a, mut b) = (a.refill(), b.refill());
    if block.thread() == 0 {
        core::mem::swap(&mut a, &mut b);
    }
    let _ = (a.fill(block, |_| 1), b.fill(block, |_| 2));
}

fn main() {}
