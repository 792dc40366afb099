//! Elements at computed indices, which are made exclusive or were checked to be.

use cuda_std::prelude::*;

/// `kept` = the elements that `keep` divides, in any order, tile by tile.
#[kernel(
    instances((0, 0, 0, 1), (1, 1, 1, 3), (31, 1, 1, 2), (33, 1, 1, 32), (256, 1, 1, 8), (1024, 1, 1, 1), (16, 16, 1, 4), (7, 5, 3, 5)),
    require(keep > 0, grid.y == 1, grid.z == 1)
)]
pub fn compact<const X: usize, const Y: usize, const Z: usize, const ITEMS: usize>(
    block: &mut Block<X, Y, Z>,
    mut scratch: Scratch<u64>,
    x: &[u32],
    keep: u32,
    mut kept: Append<u32>,
) {
    for tile in block.tiles_of::<ITEMS>(x.len()) {
        let (load, choose) = (|i| x.get(i).copied(), |x| (x % keep == 0).then_some(x));
        kept.store(block, &mut scratch, tile, load, choose);
    }
}

/// The same, but the threads of elements that `stop` divides panic.
#[kernel]
pub fn compact_and_panic(
    block: &mut Block<96>,
    mut scratch: Scratch<u64>,
    x: &[u32],
    stop: u32,
    mut kept: Append<u32>,
) {
    for tile in block.tiles_of::<2>(x.len()) {
        let choose = |x| {
            assert!(x % stop != 0, "stopped at {x}");
            (x % 2 == 0).then_some(x)
        };
        kept.store(block, &mut scratch, tile, |i| x.get(i).copied(), choose);
    }
}

/// Each thread appends the divisors of its number that are above 1, at once; `starts[i]` = where.
/// Those of 1 are none; and one element more by itself, 0.
#[kernel(require(numbers.len() == starts.len()))]
pub fn divisors(numbers: &[u32], mut starts: Out<u32>, mut found: Append<u32>) {
    for (i, place) in starts.mine() {
        let (number, is_divisor) = (numbers[i], |d: &u32| numbers[i].is_multiple_of(*d));
        let count = (2..=number).filter(is_divisor).count();
        *place = match found.reserve(count) {
            Some((start, elements)) => {
                let divisors = (2..=number).filter(is_divisor);
                elements
                    .iter_mut()
                    .zip(divisors)
                    .for_each(|(to, d)| *to = d);
                start as u32
            }
            None => u32::MAX,
        };
        found.push(0);
    }
}

/// More than there can be: nothing is stored, and the count cannot wrap.
#[kernel]
pub fn greedy(mut found: Append<u32>, each: usize) {
    for _ in 0..3 {
        if let Some((_, elements)) = found.reserve(each) {
            elements.fill(7);
        }
    }
}

/// `a[order[i]]` = i, `b[order[i]]` = 2 i by tiles, `c[order[i]]` += i for the first of each thread.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(a.len() == b.len(), a.len() == c.len())
)]
pub fn scattered<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    mut a: Scatter<u32>,
    mut b: Scatter<u64>,
    mut c: Scatter<[u32; 3]>,
) {
    for (i, mut element) in a.mine() {
        *element = i as u32;
    }
    for tile in block.tiles_of::<3>(b.len() + block.thread()) {
        b.store(block, tile, |i| 2 * i as u64);
    }
    if let Some((i, mut element)) = c.own() {
        element[1] += i as u32;
    }
}

/// y += x, by a thread for each element.
#[kernel(require(x.len() == y.len()))]
pub fn own_elements(x: &[u32], mut y: Out<u32>) {
    if let Some((i, y)) = y.own() {
        *y += x[i];
    }
}
