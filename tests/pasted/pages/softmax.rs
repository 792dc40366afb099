//! The softmax of the book's chapter "From CUDA C++", which the build script takes from that page.

use cuda_std::prelude::*;

// ANCHOR: kernel
/// y\[row, i\] = exp(x\[row, i\]) over the sum of the row's. A block takes whole rows.
#[kernel(require(x.rows() == y.rows(), x.cols() == y.cols(), grid.x == 1))]
pub fn softmax(
    block: &mut Block<256>,
    mut scratch: Scratch<f32>,
    x: Matrix<f32>,
    mut y: OutMatrix<f32, 1, 256>,
) {
    let (thread, threads) = (block.thread(), block.threads());
    for top in block.tiles_y::<1>(x.rows()) {
        let row = x.row(top.start());
        let mine = || row.iter().skip(thread).step_by(threads);
        let most = mine().copied().fold(f32::NEG_INFINITY, f32::max);
        // Every thread gets the block's.
        let most = scratch.reduce(block, most, f32::max);
        let sum: f32 = mine().map(|x| (x - most).exp()).sum();
        let sum = scratch.reduce(block, sum, |a, b| a + b);
        for left in block.tiles_x::<256>(x.cols()) {
            y.store(block, top, left, |own| {
                (row[left.start() + own.col] - most).exp() / sum
            });
        }
    }
}
// ANCHOR_END: kernel
