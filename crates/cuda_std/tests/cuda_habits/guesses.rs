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

#[kernel]
pub fn places_of_cooperative_groups(block: &mut Block<256>, mut y: Out<f32>) {
    let lane = block.lane(); // shows: `block.warp().lane()`
    let size = block.size() * block.dim(); // shows: `block.threads()`
    let rank = block.thread_rank() + block.group_index(); // shows: `block.thread()`
    let _ = (lane, size, rank, y.mine());
}

#[kernel]
pub fn sums_of_cooperative_groups(block: &mut Block<256>, mut scratch: Scratch<f32>, x: &[f32]) {
    let warp = block.warp();
    let of_warp = warp.sum(x[0]); // shows: `warp.fold(value, |a, b| a + b)`
    let of_warp = of_warp + warp.reduce(x[0], |a, b| a + b); // shows: `warp.fold(value, |a, b| a + b)`
    let sum = scratch.sum(block, x[0]); // shows: `scratch.reduce(block, value, |a, b| a + b)`
    let _ = (of_warp, sum);
}

#[kernel]
pub fn counters_too_early(block: &mut Block<256>, bins: Shared<[u32; 256]>, mut total: Atomics<f32>, x: &[f32]) {
    bins.add(block.thread(), 1); // shows: `let zeroed = bins.zeroed(block); let bins = block.sync_threads(zeroed);`
    total += x[0]; // shows: `counts.add(i, 1);`
    total.max(0, x[0]); // shows: `scratch.reduce(block, x, f32::max)`
}

#[kernel]
pub fn all_elements(mut y: Out<f32>, a: Matrix<f32>) {
    for y in y.iter_mut() { // shows: `for (i, y) in y.mine() { *y = x[i]; }`
        *y = (a.width() * a.height()) as f32; // shows: `a.rows()` and `a.cols()`
    }
}

#[kernel]
pub fn values_for_closures(block: &mut Block<256>, tile: Shared<[f32; 256]>, x: &[f32]) {
    let written = tile.write(block, x[0]); // shows: `tile.write(block, |i| x[i])`
    let _ = written;
}

#[kernel]
pub fn indices_for_tiles(block: &mut Block<256>, mut y: Out<f32>) {
    y.store(block, block.thread(), |_| 1.0); // shows: `for tile in block.tiles(y.len())`
}

#[kernel]
pub fn one_value(block: &mut Block<256>, mut y: Out<f32>) {
    y.store(block, 1.0); // shows: a value per block: `PerBlock`
}

#[kernel]
pub fn indices_for_tiles_of_matrices(block: &mut Block<16, 16>, mut c: OutMatrix<f32, 16, 16>) {
    let (x, y) = block.thread_xy();
    c.store(block, y, x, |_| 1.0); // shows: `for top in block.tiles_y::<R>(c.rows())`
}

fn main() {}
