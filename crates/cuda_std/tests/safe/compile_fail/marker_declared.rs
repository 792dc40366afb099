//! Safe code cannot declare the marker that tells the builder a value is uniform.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

unsafe extern "C" {
    safe fn __cuda_std_block_uniform(value: u32) -> u32;
}

#[kernel]
pub fn wrong(block: &mut Block<256>) {
    let _ = (block, __cuda_std_block_uniform(1));
}

fn main() {}
