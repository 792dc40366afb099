use cuda_std::prelude::*;

#[kernel]
pub fn no_size(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

#[kernel(shared(tile = 32, tile = 64))]
pub fn two_sizes(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

#[kernel(shared(tile = 32))]
pub fn size_of_a_static_array(block: &mut Block, tile: Shared<[f32; 32]>) {
    let _ = (block, tile);
}

#[kernel(shared(tile = 32), require(shared_bytes > 4))]
pub fn rule_on_the_bytes(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

#[kernel(shared(tile))]
pub fn no_length(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
