//! `forbid(unsafe_code)` refuses an `unsafe` kernel.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// # Safety
/// None.
#[kernel]
pub unsafe fn wrong(block: &mut Block<256>) {
    let _ = block;
}

fn main() {}
