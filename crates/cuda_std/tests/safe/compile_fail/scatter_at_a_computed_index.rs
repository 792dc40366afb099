//! Its elements are owned by their index before the permutation.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn scatter(x: &[u32], mut y: Scatter<u32>) {
    for &i in x {
        y[i as usize] = 1;
    }
}

fn main() {}
