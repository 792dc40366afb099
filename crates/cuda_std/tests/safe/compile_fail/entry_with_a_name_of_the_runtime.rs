//! The same through a pattern of names.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(name = "malloc")]
pub fn wrong(block: &mut Block<256>) {
    let _ = block;
}

fn main() {}
