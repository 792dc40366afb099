//! A warp comes from its block.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>) {
    let warp = Warp::of(block);
    let _ = warp.lane();
}

fn main() {}
