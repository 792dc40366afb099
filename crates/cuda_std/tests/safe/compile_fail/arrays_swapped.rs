//! After the swap, threads disagree about which array is which.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut a: Shared<[u32; 256]>, mut b: Shared<[u32; 256]>) {
    if block.thread() == 0 {
        core::mem::swap(&mut a, &mut b);
    }
    let _ = block.sync_threads((a.write(block, |_| 1), b.write(block, |_| 2)));
}

fn main() {}
