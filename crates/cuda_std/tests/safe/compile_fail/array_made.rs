//! The entry point makes the arrays.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>) {
    let mut memory = [0_u32; 256];
    cuda_std::block::with_shared(&raw mut memory, |twin: Shared<[u32; 256]>| {
        let _ = block.sync_threads(twin.write(block, |i| i as u32));
    });
}

fn main() {}
