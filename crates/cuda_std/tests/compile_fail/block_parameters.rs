use cuda_std::prelude::*;

#[kernel]
pub fn block_by_value(block: Block<32>) {
    let _ = block;
}

#[kernel]
pub fn block_by_reference(block: &Block<32>) {
    let _ = block;
}

#[kernel]
pub fn two_blocks(block: &mut Block<32>, other: &mut Block<32>) {
    let _ = (block, other);
}

#[kernel]
pub fn no_block(tile: Shared<[f32; 32]>) {
    let _ = tile;
}

#[kernel]
pub fn by_reference(block: &mut Block, scratch: &mut Scratch<f32>) {
    let _ = (block, scratch);
}

#[kernel]
pub fn matrix_by_reference(a: &Matrix<f32>) {
    let _ = a;
}

#[kernel]
pub fn named_lifetime<'s>(block: &mut Block, a: Shared<'s, [f32; 32]>, b: Shared<'s, [f32; 32]>) {
    let _ = (block, a, b);
}

#[kernel]
pub fn later_state(block: &mut Block, tile: Published<[f32; 32]>) {
    let _ = (block, tile);
}

fn main() {}
