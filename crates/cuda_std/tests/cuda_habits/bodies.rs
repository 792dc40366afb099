//! What the macro finds in a kernel's body and in the sizes of its parameters.
use cuda_std::prelude::*;

#[kernel]
pub fn tile_for_an_index(block: &mut Block<256>, x: &[f32], mut y: Out<f32>) {
    for place in block.tiles(x.len()) {
        y.store(block, place, |_| x[place]); // shows: `y.store(block, place, |i| x[i]);`
    }
}

#[kernel]
pub fn pair_of_one_number(threads: &mut Block<32, 8>, mut y: Out<f32>) {
    let (col, row) = threads.thread(); // shows: `let (x, y) = threads.thread_xy();`
    let _ = (col, row, y.mine());
}

#[kernel]
pub fn pointer_for_an_array(block: &mut Block<256>, x: &[f32]) {
    let tile = shared_array![f32; 256];
    tile[block.thread()] = x[0]; // shows: `unsafe { *tile.add(block.thread()) }`
}

#[kernel]
pub fn rows_of_rows(block: &mut Block<16, 16>, tile: Shared<[[f32; 8]; 16]>) {
    let written = tile.write(block, |row, col| (row * col) as f32); // shows: `tile: Shared<Tile<f32, 16, 8>>`
    let _ = written;
}

#[kernel]
pub fn matrix_without_tiles(block: &mut Block<16, 16>, mut c: OutMatrix<f64>) { // shows: `mut c: OutMatrix<f64, 16, 16>`
    let _ = (block, c.rows());
}

#[kernel]
pub fn length_of_a_parameter(block: &mut Block<256>, tile: Shared<[f32; n]>, n: u32) { // shows: `#[kernel(shared(tile = n as usize))]`
    let _ = (block, tile, n);
}

#[kernel(launch_bounds(256, 2))] // shows: `#[kernel(max_threads = 256, min_blocks = 2)]`
pub fn bounds(x: &[f32]) {
    let _ = x;
}

fn main() {}
