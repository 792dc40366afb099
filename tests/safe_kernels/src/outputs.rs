//! Outputs by every map, and folds of inputs.

use cuda_std::prelude::*;
use cuda_std::unroll::fold_groups;

/// Each output by its own map: `strided[i]` = i, `runs[i]` = 2 i, `from_end[n − 1 − i]` = the
/// elements of its tile after it, `per_block[b]` = b.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(strided.len() == runs.len(), strided.len() == from_end.len())
)]
pub fn maps<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    mut strided: Out<u32>,
    mut runs: Out<u64, Strided<3>>,
    mut from_end: Out<u32, FromEnd>,
    mut per_block: Out<u32, PerBlock>,
) {
    let len = strided.len();
    for (i, element) in strided.mine() {
        *element = 1000 + i as u32;
    }
    for tile in block.tiles(len) {
        strided.store(block, tile, |i| i as u32);
        from_end.store(block, tile, |rest| rest as u32);
    }
    // Tiles past the end, as many as the thread likes: nothing is stored there.
    for tile in block.tiles_of(len + 10 * block.thread()) {
        runs.store(block, tile, |i| 2 * i as u64);
    }
    per_block.store(block, block.index() as u32);
}

/// `output[r, c]` = 1000 r + c, in every layout.
#[kernel(
    instances((0 | 5, 0 | 3, RowMajor | ColMajor, RowMajor | ColMajor)),
    name = "layouts_{X}_{Y}_{L}_{T}"
)]
pub fn layouts<const X: usize, const Y: usize, L, T>(
    block: &mut Block<X, Y>,
    mut output: OutMatrix<u32, 8, 12, L, T>,
) {
    for top in block.tiles_y(output.rows()) {
        for left in block.tiles_x(output.cols()) {
            output.store(block, top, left, |own| {
                (1000 * own.at_row + own.at_col) as u32
            });
        }
    }
}

/// `sums[block]` = Σ over its share of the block's threads of a, and of a · b; the whole grid's
/// shares are the input.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(sums.len() == 2)
)]
pub fn folds<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    a: &[u32],
    b: &[u32],
    sums: Atomics<u64>,
) {
    let sum = block.fold_strided(a, 0, |sum, a| sum + u64::from(a));
    let dot = block.fold_strided((a, b), 0, |sum, (a, b)| sum + u64::from(a) * u64::from(b));
    sums.add(0, sum);
    sums.add(1, dot);
}

/// `output[i]` = Σₖ `taps[k] · signal[i − k]`, zeros outside the signal; and beside it Σ over
/// column i of `a`.
#[kernel(require(
    !taps.is_empty(),
    output.len() == signal.len() + taps.len() - 1,
    sums.len() == a.cols()
))]
pub fn windows(
    signal: &[u32],
    taps: &[u32],
    mut output: Out<u32>,
    a: Matrix<u32>,
    mut sums: Out<u32>,
) {
    for (i, output) in output.mine() {
        let from = (i + 1).saturating_sub(signal.len());
        let to = taps.len().min(i + 1);
        let (Some(taps), Some(window)) = (taps.get(from..to), signal.get(i + 1 - to..i + 1 - from))
        else {
            continue;
        };
        *output = fold_groups::<32, _, _>((taps, Reversed(window)), .., 0, |sum, (tap, x)| {
            sum + tap * x
        });
    }
    for (i, sum) in sums.mine() {
        *sum = fold_groups::<4, _, _>(a.col(i), .., 0, |sum, x| sum + x);
        let by_rows: u32 = (0..a.rows())
            .map(|r| a.row(r).get(i).copied().unwrap_or(0))
            .sum();
        *sum += by_rows - a.as_slice().iter().skip(i).step_by(a.cols()).sum::<u32>();
    }
}
