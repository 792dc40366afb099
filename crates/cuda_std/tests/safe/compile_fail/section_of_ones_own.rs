//! Link sections are marks for the builder: safe code cannot set them.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[unsafe(link_section = "cuda_std.kernel.uniform=allow")]
#[kernel]
pub fn wrong(block: &mut Block<256>) {
    let _ = block;
}

fn main() {}
