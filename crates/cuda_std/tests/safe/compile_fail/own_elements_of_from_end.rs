//! `mine` is for plain outputs: counted from the end, elements have other owners.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32, FromEnd>) {
    for (_, element) in output.mine() {
        *element = 1;
    }
    let _ = block;
}

fn main() {}
