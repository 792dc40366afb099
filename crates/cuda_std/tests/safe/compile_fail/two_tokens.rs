//! One token says that all threads of the block are here.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(a: &mut Block<256>, b: &mut Block<256>) {
    let _ = (a, b);
}

fn main() {}
