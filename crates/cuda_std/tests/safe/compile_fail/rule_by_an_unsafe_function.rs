//! An expression in `require` is checked as safe code.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(require(core::hint::unreachable_unchecked()))]
pub fn wrong(block: &mut Block, output: Out<f32>) {
    let _ = (block, output);
}

fn main() {}
