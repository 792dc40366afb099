//! `forbid(unsafe_code)` holds inside a kernel.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, input: &[u32]) {
    let first = unsafe { *input.as_ptr() };
    let _ = (block, first);
}

fn main() {}
