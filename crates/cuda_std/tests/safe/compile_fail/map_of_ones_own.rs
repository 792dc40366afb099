//! Only the library defines how elements map to threads.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

struct Backwards;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32, Backwards>) {
    for place in block.tiles(output.len()) {
        output.store(block, place, |_| 1);
    }
}

fn main() {}
