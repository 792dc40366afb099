//! Compiled code calls `memcpy`: it would call this kernel.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn memcpy(block: &mut Block<256>) {
    let _ = block;
}

fn main() {}
