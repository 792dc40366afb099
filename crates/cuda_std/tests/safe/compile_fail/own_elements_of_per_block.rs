//! `mine` is for plain outputs: one element per block has no owning thread.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32, PerBlock>) {
    for (_, element) in output.mine() {
        *element = 1;
    }
    let _ = block;
}

fn main() {}
