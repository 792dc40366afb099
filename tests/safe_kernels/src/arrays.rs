//! Shared arrays of every shape: each kernel writes one, and every thread reads what others wrote.

use cuda_std::block::ANY;
use cuda_std::prelude::*;

/// Elements of the static arrays: more than some blocks have threads, fewer than others.
pub const LEN: usize = 300;

/// `output[i]` = element 3 i + 1 of the array, which has the input from the tile's start on, and
/// sevens after its end.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(input.len() == output.len())
)]
pub fn through_static<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    mut array: Shared<[u32; LEN]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    for place in block.tiles(output.len()) {
        let written = array.write(block, |e| at_or_seven(input, place.start() + e));
        let published = block.sync_threads(written);
        output.store(block, place, |i| published[(3 * i + 1) % LEN]);
        array = block.sync_threads(published);
    }
}

/// The same through a dynamic array of 2 · threads + 3 elements.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    shared(array = 2 * block.threads() + 3, other = block.threads()),
    require(input.len() == output.len())
)]
pub fn through_dynamic<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    other: Shared<[u8]>,
    array: Shared<[u32]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let len = array.len();
    let mut array = array.refill();
    let written = other.write(block, |i| i as u8);
    let bytes = block.sync_threads(written);
    for place in block.tiles(output.len()) {
        let filled = array.fill(block, |e| at_or_seven(input, place.start() + e));
        output.store(block, place, |i| {
            let extra = u32::from(bytes.last().copied().unwrap_or(0));
            filled.get((3 * i + 1) % len).map_or(0, |x| x + extra)
        });
    }
}

/// The same through a ring of three arrays, and one of two pairs: their elements e, 2 e + 1.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(input.len() == output.len())
)]
pub fn through_rings<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    mut arrays: Ring<[u32; LEN], 3>,
    mut pairs: Ring<Pair<[u32; LEN]>, 2>,
    input: &[u32],
    mut output: Out<u32>,
) {
    for place in block.tiles(output.len()) {
        let array = arrays.next(block, |e| at_or_seven(input, place.start() + e));
        let Pair(once, twice) = pairs.next(block, |e| (e as u32, 2 * e as u32 + 1));
        output.store(block, place, |i| {
            let e = (3 * i + 1) % LEN;
            array[e] + twice[e] - 2 * once[e] - 1
        });
    }
}

/// The rows of the tiles.
pub const ROWS: usize = 9;
/// Their columns.
pub const COLS: usize = 7;

/// `output[i]` = the sum over four tiles of 100 row + column of an element, which were written in
/// all orders, with and without a pitch.
#[kernel(instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)))]
pub fn through_tiles<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    rows: Shared<Tile<u32, 9, 7>>,
    padded: Shared<Tile<u32, 9, 7, 8>>,
    cols: Shared<Tile<u32, 9, 7, 7, ColMajor>>,
    wide: Shared<Tile<u64, 9, 7, 9, ColMajor>>,
    mut output: Out<u32>,
) {
    let value = |(r, c): (usize, usize)| (100 * r + c) as u32;
    let states = (
        rows.write(block, value),
        padded.write(block, value),
        cols.write(block, value),
        wide.write(block, |at| u64::from(value(at))),
    );
    let (rows, padded, cols, wide) = block.sync_threads(states);
    for place in block.tiles(output.len()) {
        output.store(block, place, |i| {
            let (r, c) = (i % ROWS, (5 * i + 2) % COLS);
            rows[r][c] + padded[r][c] + cols[r][c] + wide[r][c] as u32
        });
    }
}

/// `output[r, c]` = `input[r, c]` plus 1, through a padded tile, where the two differ in their
/// layouts.
#[kernel(
    instances((0, 0), (32, 8), (16, 16), (5, 3), (1, 1)),
    require(input.rows() == output.rows(), input.cols() == output.cols())
)]
pub fn transpose<const X: usize, const Y: usize>(
    block: &mut Block<X, Y>,
    tile: Shared<Tile<u32, 32, 32, 33>>,
    input: Matrix<u32>,
    mut output: OutMatrix<u32, 32, 32, ColMajor>,
) {
    let mut tile = tile.refill();
    for top in block.tiles_y::<32>(input.rows()) {
        for left in block.tiles_x::<32>(input.cols()) {
            let loaded = tile.fill(block, |(r, c)| {
                input.or_default(top.start() + r, left.start() + c)
            });
            output.store(block, top, left, |own| loaded[own.row][own.col] + 1);
        }
    }
}

/// A matrix product with a tile of each operand, one barrier a step.
#[kernel(require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols()))]
pub fn product(
    block: &mut Block<16, 16>,
    mut tiles: Ring<Pair<Tile<u32, 16, 16>>, 2>,
    a: Matrix<u32>,
    b: Matrix<u32>,
    mut c: OutMatrix<u32, 16, 16>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y(c.rows()) {
        for left in block.tiles_x(c.cols()) {
            let mut sum = 0;
            for step in 0..a.cols().div_ceil(16) {
                let Pair(of_a, of_b) = tiles.next(block, |(row, col)| {
                    (
                        a.or_default(top.start() + row, 16 * step + col),
                        b.or_default(16 * step + row, left.start() + col),
                    )
                });
                for k in 0..16 {
                    sum += of_a[y][k] * of_b[k][x];
                }
            }
            c.store(block, top, left, |_| sum);
        }
    }
}

/// The element, or 7.
fn at_or_seven(input: &[u32], index: usize) -> u32 {
    input.get(index).copied().unwrap_or(7)
}

/// One-dimensional blocks that the launch chooses: `Block` without numbers.
#[kernel(require(input.len() == output.len()), shared(tile = block.threads()))]
pub fn reverse(
    block: &mut Block,
    tile: Shared<[u32]>,
    input: &[u32],
    mut output: Out<u32, FromEnd>,
) {
    const { assert!(ANY == 0) };
    let mut tile = tile.refill();
    for place in block.tiles(output.len()) {
        let loaded = tile.fill(block, |i| at_or_seven(input, place.start() + i));
        output.store(block, place, |rest| loaded.get(rest).copied().unwrap_or(7));
    }
}
