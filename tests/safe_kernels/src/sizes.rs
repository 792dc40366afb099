//! Elements without bytes, and elements of a large alignment.

use cuda_std::prelude::*;

/// A cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Plain)]
#[repr(C, align(128))]
pub struct Line(pub [u32; 32]);

/// `y[i]` = the line of thread i xor 1 of the block, through shared memory, and the largest first
/// number of the block behind it; `wrong` counts addresses that are not aligned.
#[kernel(require(x.len() == y.len(), wrong.len() == 1))]
pub fn lines(
    block: &mut Block<64>,
    tile: Shared<[Line; 64]>,
    mut scratch: Scratch<Line>,
    x: &[Line],
    mut y: Out<Line>,
    wrong: Atomics<u32>,
) {
    let check = |line: &Line| {
        // Through memory, so that the compiler does not know the answer.
        let address = core::hint::black_box(core::ptr::from_ref(line) as usize);
        if !address.is_multiple_of(128) {
            wrong.add(0, 1);
        }
    };
    let thread = block.thread();
    let mut tile = tile.refill();
    for place in block.tiles(y.len()) {
        let loaded = tile.fill(block, |i| {
            x.get(place.start() + i).copied().unwrap_or(Line([0; 32]))
        });
        let other = loaded[thread ^ 1];
        check(&other);
        check(&loaded[thread]);
        let mine = x.get(place.start() + thread);
        mine.into_iter().for_each(check);
        let largest = scratch.reduce(block, other, |a, b| if a.0[0] > b.0[0] { a } else { b });
        y.store(block, place, |_| {
            let mut line = other;
            line.0[31] = largest.0[0];
            line
        });
    }
    for (_, line) in y.mine() {
        check(line);
    }
}

/// Counts elements without bytes wherever they can be.
#[kernel(require(seen.len() == 3))]
pub fn nothing(
    block: &mut Block<32>,
    x: &[[u32; 0]],
    a: Matrix<[f64; 0]>,
    by_value: [u64; 0],
    seen: Atomics<u64>,
) {
    if block.thread() == 0 && block.index() == 0 {
        seen.add(0, x.len() as u64);
        seen.add(1, (a.rows() + a.cols() + by_value.len()) as u64);
    }
    if x.len() < 1000 {
        let mine = block.fold_strided(x, 0, |sum, none: [u32; 0]| sum + 1 + none.len() as u64);
        seen.add(2, mine);
    }
}
