use cuda_std::prelude::*;

#[kernel]
pub fn array(block: &mut Block, tile: Shared<[bool; 4]>) {
    let _ = (block, tile);
}

#[kernel]
pub fn no_array(block: &mut Block, tile: Shared<f32>) {
    let _ = (block, tile);
}

#[kernel(shared(tile = 4))]
pub fn dynamic(block: &mut Block, tile: Shared<[Option<u32>]>) {
    let _ = (block, tile);
}

#[kernel]
pub fn others(block: &mut Block, ring: Ring<[char; 4], 2>, scratch: Scratch<usize>) {
    let _ = (block, ring, scratch);
}

#[kernel]
pub fn matrix(block: &mut Block, tile: Shared<Tile<(f32, u8), 4, 4>>, a: Matrix<bool>) {
    let _ = (block, tile, a);
}

fn main() {}
