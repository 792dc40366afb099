//! Methods that one expects from other types.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn shared_array_made(block: &mut Block<256>, mut y: Out<f32>) {
    let tile = Shared::<[f32; 256]>::new(); // shows: a parameter, `tile: Shared<[f32; 256]>`
    let _ = (block, tile, y.mine());
}

#[kernel]
pub fn shared_array_made_of_any_type(block: &mut Block<256>, x: &[f32]) {
    let tile: Shared<[f32; 256]> = Shared::new(); // shows: a parameter, `tile: Shared<[f32; 256]>`
    let _ = tile.write(block, |i| x[i]);
}

#[kernel]
pub fn elements_set(block: &mut Block<256>, mut tile: Shared<[f32; 256]>, x: &[f32], mut y: Out<f32>) {
    let i = block.index() * block.threads() + block.thread();
    tile.set(block.thread(), x[i]); // shows: `let written = tile.write(block, |i| x[i]);`
    y.set(i, x[i]); // shows: `for (i, y) in y.mine() { *y = x[i]; }`
}

#[kernel]
pub fn elements_of_matrices(a: Matrix<f32>, mut c: OutMatrix<f32, 16, 16>) {
    let n = a.len(); // shows: `a.rows() * a.cols()`
    c.set(0, 1, n as f32); // shows: `c.store(block, top, left, |own| value);`
    let _ = c.len(); // shows: `a.rows() * a.cols()`
}

#[kernel]
pub fn counters_of_the_standard_library(
    block: &mut Block<256>,
    bins: Shared<[u32; 256]>,
    counts: Atomics<u32>,
    mut sorted: Scatter<u32>,
) {
    counts.fetch_add(block.thread(), 1); // shows: `counts.add(i, 1);`
    sorted.set(block.thread(), 1); // shows: `for (i, mut y) in sorted.mine() { *y = x[i]; }`
    let zeroed = bins.zeroed(block);
    let bins = block.sync_threads(zeroed);
    bins.fetch_add(block.thread(), 1); // shows: `bins.add(bin, 1);`
    let _ = block.sync_threads(bins);
}

#[kernel]
pub fn sums_in_an_output(block: &mut Block<256>, x: &[f32], mut y: Out<f32>) {
    let i = block.index() * block.threads() + block.thread();
    y.write(i, x[i]); // shows: `for (i, y) in y.mine() { *y = x[i]; }`
    y.add(0, x[i]); // shows: parameters `Atomics<T>` (add)
    y.fetch_add(0, x[i]); // shows: parameters `Atomics<T>` (add)
}

#[kernel]
pub fn barriers_of_cooperative_groups(block: &mut Block<256>) {
    block.sync(); // shows: `block.sync_threads(());`
    block.barrier(); // shows: `block.sync_threads(written)`
}

fn main() {}
