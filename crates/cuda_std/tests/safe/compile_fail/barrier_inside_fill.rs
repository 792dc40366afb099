//! `fill` calls its closure a different number of times in each thread.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, a: Shared<[u32; 256]>, b: Shared<[u32; 256]>) {
    let (mut a, mut b) = (a.refill(), b.refill());
    a.fill(block, |i| b.fill(block, |j| j as u32)[i]);
}

fn main() {}
