//! Arrays and outputs by an index, and barriers without what they publish.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn shared_assigned(block: &mut Block<256>, mut tile: Shared<[f32; 256]>, x: &[f32]) {
    let t = block.thread();
    tile[t] = x[t]; // shows: `let written = tile.write(block, |i| x[i]);`
}

#[kernel]
pub fn shared_read(block: &mut Block<256>, tile: Shared<[f32; 256]>) {
    let left = tile[block.thread()]; // shows: `let tile = block.sync_threads(written);`
    let _ = left;
}

#[kernel]
pub fn shared_matrix_assigned(block: &mut Block<16, 16>, mut tile: Shared<Tile<f32, 16, 16>>) {
    let (x, y) = block.thread_xy();
    tile[y][x] = 0.0; // shows: `let written = tile.write(block, |i| x[i]);`
}

#[kernel]
pub fn read_before_the_barrier(block: &mut Block<256>, tile: Shared<[f32; 256]>, x: &[f32]) {
    let written = tile.write(block, |i| x[i]);
    let left = written[block.thread()]; // shows: `let tile = block.sync_threads(written);`
    let _ = left;
}

#[kernel]
pub fn barrier_without_arguments(block: &mut Block<256>, tile: Shared<[f32; 256]>, x: &[f32]) {
    let written = tile.write(block, |i| x[i]);
    block.sync_threads(); // shows: `block.sync_threads(written)`
    let _ = written;
}

#[kernel]
pub fn barrier_by_reference(block: &mut Block<256>, tile: Shared<[f32; 256]>, x: &[f32]) {
    let written = tile.write(block, |i| x[i]);
    block.sync_threads(&written); // shows: block.sync_threads(written);
}

#[kernel]
pub fn barrier_by_another_name(block: &mut Block<256>) {
    block.syncthreads(); // shows: `block.sync_threads(())`
}

#[kernel]
pub fn output_assigned(block: &mut Block<256>, x: &[f32], mut output: Out<f32>) {
    let i = block.index() * 256 + block.thread();
    output[i] = x[i]; // shows: `for (i, y) in y.mine() { *y = x[i]; }`
}

#[kernel]
pub fn output_at_a_number_of_32_bits(x: &[f32], mut output: Out<f32>) {
    let i = thread::index_1d();
    output[i] = 2.0; // shows: y.store(block, place, |i| x[i]);
    let _ = x;
}

#[kernel]
pub fn input_at_a_number_of_32_bits(x: &[f32], mut output: Out<f32>) {
    for (_, y) in output.mine() {
        *y = x[thread::index_1d()]; // shows: slice indices are of type `usize`
    }
}

#[kernel]
pub fn one_value_of_the_block(block: &mut Block<256>, mut sums: Out<f32, PerBlock>) {
    sums[block.index()] = 1.0; // shows: `y.store(block, value);`
}

#[kernel]
pub fn output_matrix_assigned(block: &mut Block<16, 16>, mut c: OutMatrix<f32, 16, 16>) {
    let (x, y) = block.thread_xy();
    c[y][x] = 1.0; // shows: `c.store(block, top, left, |own| value);`
}

#[kernel]
pub fn matrix_by_two_indices(a: Matrix<f32>, mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = a[i][0]; // shows: `a.row(row)[col]`
        *y = a[(i, 0)]; // shows: `a.or_default(row, col)`
    }
}

#[kernel]
pub fn counter_incremented(text: &[u8], mut counts: Atomics<u32>) {
    counts[usize::from(text[0])] += 1; // shows: `counts.add(i, 1);`
}

#[kernel]
pub fn shared_counter_incremented(block: &mut Block<256>, bins: Shared<[u32; 256]>) {
    let zeroed = bins.zeroed(block);
    zeroed[0] += 1; // shows: `let bins = block.sync_threads(zeroed);`
    let mut bins = block.sync_threads(zeroed);
    bins[block.thread()] += 1; // shows: `bins.add(bin, 1);`
}

#[kernel]
pub fn compaction_by_index(x: &[f32], mut kept: Append<f32>, mut sorted: Scatter<f32>) {
    kept[0] = x[0]; // shows: `kept.push(value);`
    sorted[0] = x[0]; // shows: `for (i, mut y) in sorted.mine() { *y = x[i]; }`
}

fn main() {}
