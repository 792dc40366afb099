//! In a safe kernel every thread reaches every barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(allow_divergence = "I know better")]
pub fn wrong(block: &mut Block) {
    let _ = block;
}

fn main() {}
