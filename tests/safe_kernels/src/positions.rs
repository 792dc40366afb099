//! Where threads stand, and the barriers that vote.

use cuda_std::prelude::*;

/// Numbers that each thread gives.
pub const EACH: usize = 9;

/// For each thread, by its number in the grid: thread, x, y, z, threads of the block, block, x, y,
/// z, added to zeros.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(output.len() == block.threads() * grid.blocks() * EACH)
)]
pub fn positions<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    output: Atomics<u32>,
) {
    let (x, y, z) = block.thread_xyz();
    let (bx, by, bz) = block.index_xyz();
    let position = [
        block.thread(),
        x,
        y,
        z,
        block.threads(),
        block.index(),
        bx,
        by,
        bz,
    ];
    let thread = block.index() * block.threads() + block.thread();
    for (i, number) in position.into_iter().enumerate() {
        output.add(thread * EACH + i, number as u32);
    }
}

/// For each tile of the input: how many of its elements are odd, whether all are, whether any is.
/// Elements past the end are odd.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(input.len() == output.len())
)]
pub fn votes<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    input: &[u32],
    mut output: Out<[u32; 3]>,
) {
    for place in block.tiles(output.len()) {
        let odd = input
            .get(place.start() + block.thread())
            .is_none_or(|x| x % 2 == 1);
        let counts = [
            block.sync_threads_count(odd),
            u32::from(block.sync_threads_and(odd)),
            u32::from(block.sync_threads_or(odd)),
        ];
        output.store(block, place, |_| counts);
    }
}

/// `output[z, y, x]` of 3 × 2 × 5 tiles, as an array of `depth · height · width`: which block has
/// the tile.
#[kernel(require(output.len() == 1, grid.blocks() > 0))]
pub fn tiles_in_space(
    block: &mut Block<32>,
    output: Atomics<u32>,
    width: usize,
    height: usize,
    depth: usize,
) {
    // Every tile of the three axes is one block's.
    for x in block.tiles_x::<5>(width) {
        for y in block.tiles_y::<2>(height) {
            for z in block.tiles_z::<3>(depth) {
                if block.thread() == 0 {
                    output.add(
                        0,
                        (1 + x.start() + 100 * y.start() + 10_000 * z.start()) as u32,
                    );
                }
            }
        }
    }
}
