//! Signatures as CUDA C++ and rust-cuda have them, on safe kernels, and assignments to what they may
//! only read.

use cuda_std::prelude::*;

#[kernel]
pub fn input_assigned(x: &[f32]) {
    x[0] = 1.0; // shows: `mut x: Out<f32>`, each of whose elements one thread writes: `for (i, x) in x.mine() { *x = 1.0; }`
}

#[kernel]
pub fn input_scaled(block: &mut Block<64>, a: f32, values: &[f32]) {
    for i in 0..4 {
        if i < values.len() {
            values[block.index() * 4 + i] *= a + 1.0; // shows: `for (i, values) in values.mine() { *values *= a + 1.0; }`
        }
    }
}

#[kernel]
pub fn field_assigned(points: &[(f32, f32)]) {
    points[thread::index_1d()].0 = 0.0; // shows: `mut points: Out<(f32,f32)>`
}

#[kernel]
pub fn published_assigned(block: &mut Block<256>, tile: Shared<[f32; 256]>) {
    let written = tile.write(block, |_| 0.0);
    let tile = block.sync_threads(written);
    tile[0] = 1.0; // shows: `let tile = block.sync_threads(tile);`
}

#[kernel]
pub fn published_counted(threads: &mut Block<16, 16>, tile: Shared<Tile<u32, 16, 16>>) {
    let written = tile.write(threads, |_| 0);
    let loaded = threads.sync_threads(written);
    let (x, y) = threads.thread_xy();
    loaded[y][x] += 1; // shows: `let loaded = threads.sync_threads(loaded);`
}

#[kernel]
pub fn exclusive_slice(x: &[f32], y: &mut [f32]) { // shows: `mut y: Out<f32>`
    y[0] = x[0];
}

#[kernel]
pub fn exclusive_value(x: &[f32], sum: &mut f64) { // shows: `mut sum: Out<f64>`
    *sum = x[0] as f64;
}

#[kernel]
pub fn pointers(x: *const f32, y: *mut f32) { // shows: `x: &[f32]`
    let _ = (x, y);
}

#[kernel]
pub fn pointer_of_an_output(x: &[f32], y: *mut f32) { // shows: `mut y: Out<f32>`
    let _ = (x, y);
}

#[kernel]
pub fn slice_by_value(x: [f32]) { // shows: `x: &[f32]`
    let _ = x;
}

#[kernel]
pub fn vector(x: Vec<f32>, mut y: Out<f32>) { // shows: `x: &[f32]`
    let _ = (x, y.mine());
}

#[kernel]
pub fn array_by_reference(x: &[f32; 256]) { // shows: `x: &[f32]`
    let _ = x;
}

#[kernel]
pub fn size_by_reference(x: &[f32], n: &u32) { // shows: `n: u32`
    let _ = (x, n);
}

#[kernel]
pub fn result(x: &[f32]) -> f32 { // shows: `mut result: Out<f32>`
    x[0]
}

#[kernel]
pub fn generic<T: Plain>(x: &[T], mut y: Out<T>) { // shows: `#[kernel(instances(f32, f64))]`
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

#[kernel]
pub fn dynamic_without_a_size(block: &mut Block, tile: Shared<[f32]>) { // shows: `#[kernel(shared(tile = block.threads()))]`
    let _ = (block, tile);
}

#[kernel]
pub fn shared_without_a_block(tile: Shared<[f32; 256]>) { // shows: `block: &mut Block`
    let _ = tile;
}

#[kernel]
pub fn block_by_reference(block: &Block<256>) { // shows: `&mut Block<256>`
    let _ = block;
}

#[kernel]
pub fn shared_by_reference(block: &mut Block<256>, tile: &mut Shared<[f32; 256]>) { // shows: without `&`
    let _ = (block, tile);
}

#[kernel]
pub fn pointers_to_rows(x: &[&[f32]], mut y: Out<f32>) { // shows: `x: Matrix<f32>`
    let _ = (x, y.mine());
}

#[kernel]
pub fn slice_of_outputs(x: &[f32], mut y: Out<[f32]>) { // shows: `Out<f32>`
    let _ = (x, y.mine());
}

#[kernel]
pub fn references_to_outputs(x: &[f32], mut y: Out<&f32>) { // shows: `Out<f32>`
    let _ = (x, y.mine());
}

#[kernel]
pub fn function_as_an_argument(f: impl Fn(f32) -> f32, mut y: Out<f32>) { // shows: `#[kernel(instances(..))]`
    let _ = (f(1.0), y.mine());
}

fn main() {}
