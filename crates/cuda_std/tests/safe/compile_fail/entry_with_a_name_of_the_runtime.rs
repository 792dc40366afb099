//! `#[kernel(name = ..)]` cannot take a name that compiled code calls.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(name = "malloc")]
pub fn wrong(block: &mut Block<256>) {
    let _ = block;
}

fn main() {}
