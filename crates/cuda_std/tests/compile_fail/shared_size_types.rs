use cuda_std::prelude::*;

#[kernel(shared(tile = n * 4))]
pub fn not_usize(block: &mut Block, tile: Shared<[f32]>, n: u32) {
    let _ = (block, tile, n);
}

#[kernel(shared(tile = block.threads() + m))]
pub fn unknown(block: &mut Block, tile: Shared<[f32]>, n: u32) {
    let _ = (block, tile, n);
}

fn main() {}
