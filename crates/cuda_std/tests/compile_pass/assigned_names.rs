//! Names of inputs and published arrays that the body binds anew: what is assigned is its own.
#![deny(warnings)]

use cuda_std::prelude::*;

#[kernel]
pub fn shadowed(x: &[f32], mut y: Out<f32>) {
    let first = x[0];
    for (i, y) in y.mine() {
        let mut x = [first; 4];
        x[i % 4] = 1.0;
        x[0] += 2.0;
        *y = x[i % 4];
    }
}

#[kernel]
pub fn by_a_closure(x: &[u32], mut y: Out<u32>) {
    let change = |x: &mut [u32; 2]| x[0] = 7;
    let mut pair = [x[0], x[1]];
    change(&mut pair);
    for (i, y) in y.mine() {
        *y = pair[i % 2];
    }
}

#[kernel]
pub fn published_and_bound_again(block: &mut Block<64>, tile: Shared<[f32; 64]>, mut y: Out<f32>) {
    let written = tile.write(block, |i| i as f32);
    let tile = block.sync_threads(written);
    for (i, y) in y.mine() {
        let mut tile = [tile[i % 64], tile[0]];
        tile[1] += 1.0;
        *y = tile[0] + tile[1];
    }
}

#[kernel]
pub fn in_a_function_inside(x: &[f32], mut y: Out<f32>) {
    fn doubled(x: &mut [f32; 2]) {
        x[0] *= 2.0;
    }
    let mut pair = [x[0], x[1]];
    doubled(&mut pair);
    for (_, y) in y.mine() {
        *y = pair[0];
    }
}

fn main() {}
