//! What only the borrow checker sees: outputs without `mut`, states used twice.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn output_without_mut(x: &[f32], y: Out<f32>) {
    for (i, y) in y.mine() { // shows: mut y
        *y = x[i];
    }
}

#[kernel]
pub fn array_written_again(block: &mut Block<256>, tile: Shared<[f32; 256]>, mut y: Out<f32>) {
    for place in block.tiles(y.len()) {
        let written = tile.write(block, |_| 0.0); // shows: `tile = block.sync_threads(loaded);`
        let loaded = block.sync_threads(written);
        y.store(block, place, |i| loaded[i % 256]);
    }
}

#[kernel]
pub fn barrier_in_a_branch(block: &mut Block<256>, tile: Shared<[f32; 256]>, mut y: Out<f32, PerBlock>) {
    let written = tile.write(block, |_| 0.0);
    if block.thread() < 128 {
        let tile = block.sync_threads(written);
        y.store(block, tile[0]);
    }
    let tile = block.sync_threads(written); // shows: use of moved value: `written`
    y.store(block, tile[1]);
}

fn main() {}
