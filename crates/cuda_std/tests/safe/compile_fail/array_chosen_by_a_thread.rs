//! A variable that holds a different array in different threads.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, a: Shared<[u32; 256]>, b: Shared<[u32; 256]>) {
    let chosen = if block.thread() < 32 { a } else { b };
    let _ = block.sync_threads(chosen.write(block, |i| i as u32));
}

fn main() {}
