//! Each array has a lifetime of its own.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong<'s>(block: &mut Block<256>, a: Shared<'s, [u32; 256]>, b: Shared<'s, [u32; 256]>) {
    let _ = (block, a, b);
}

fn main() {}
