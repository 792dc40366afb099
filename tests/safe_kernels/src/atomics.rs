//! Counters that all threads change.

use cuda_std::prelude::*;

/// Bins of the histograms.
pub const BINS: usize = 40;

/// Counts elements by value, those below [`BINS`]: `counts` first in a static array and then in a
/// dynamic one; `[bins]` counts the rest.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    shared(more = BINS),
    require(counts.len() == BINS + 1)
)]
pub fn histogram<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    bins: Shared<[u32; BINS]>,
    more: Shared<[u64]>,
    input: &[u32],
    counts: Atomics<u64>,
) {
    let zeroed = (bins.zeroed(block), more.zeroed(block));
    let (bins, more) = block.sync_threads(zeroed);
    for place in block.tiles(input.len()) {
        if let Some(&x) = input.get(place.start() + block.thread()) {
            let known = bins.add(x as usize, 1).is_some();
            if more.add(x as usize, 1).is_some() != known || !known {
                counts.add(BINS, 1);
            }
        }
    }
    let (bins, more) = block.sync_threads((bins, more));
    let mut bin = block.thread();
    while bin < BINS {
        let both = u64::from(bins[bin]) + more.get(bin).copied().unwrap_or(0);
        counts.add(bin, both);
        bin += block.threads();
    }
}

/// `extremes` = the sum, the smallest and the largest element; indices past the end change nothing.
#[kernel(instances(u32, i32, u64, i64), require(extremes.len() == 3))]
pub fn extremes<T: cuda_std::block::Counter>(block: &mut Block, input: &[T], extremes: Atomics<T>) {
    for place in block.tiles(input.len()) {
        if let Some(&x) = input.get(place.start() + block.thread()) {
            extremes.add(0, x);
            extremes.min(1, x);
            extremes.max(2, x);
            extremes.add(3, x);
            extremes.max(usize::MAX, x);
        }
    }
}

/// `sum[0]` += all elements, none below 0; `seen[i]` = 1: each thread saw some of the sum, and
/// nothing beside it.
#[kernel(instances(f32, f64), require(sum.len() == 1, seen.len() == input.len()))]
pub fn float_sum<T: cuda_std::block::Number + Default + PartialOrd>(
    block: &mut Block,
    input: &[T],
    sum: Atomics<T>,
    mut seen: Out<u32>,
) {
    for place in block.tiles(input.len()) {
        if let Some(&x) = input.get(place.start() + block.thread()) {
            sum.add(0, x);
        }
        let is_there = sum.load(0).is_some_and(|sum| sum >= T::default());
        seen.store(block, place, |_| {
            u32::from(is_there && sum.load(1).is_none())
        });
    }
}
