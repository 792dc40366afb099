//! What is no Rust: the compiler's own error at its place, and no other. The build script's warning
//! is the line to write (`cuda_builder`'s `habits`).
use cuda_std::prelude::*;

#[kernel]
pub fn declared(block: &mut Block<256>, x: &[f32]) {
    __shared__ float tile[256];
    tile[block.thread()] = x[0];
}

fn main() {}
