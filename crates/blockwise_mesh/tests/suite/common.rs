//! What the tests share: inputs, and splits of every kind.

use blockwise_mesh::Split;
use blockwise_ops::oracle::Precision;

/// The sizes of meshes that programs are run on.
pub(crate) const MESHES: [usize; 5] = [1, 2, 3, 4, 8];

/// Numbers between −1 and 1 that look random.
pub(crate) fn noise<T: Precision>(seed: u64, len: usize) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        T::nearest((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    (0..len).map(|_| next()).collect()
}

/// Even and uneven splits, with ranks that get nothing.
pub(crate) fn splits(len: usize, ranks: usize) -> Vec<Split> {
    let all_at = |rank: usize| {
        let mut lengths = vec![0; ranks];
        lengths[rank] = len;
        lengths
    };
    let mut halves = Vec::new();
    let mut left = len;
    for rank in 0..ranks {
        let taken = if rank + 1 == ranks { left } else { left / 2 };
        halves.push(taken);
        left -= taken;
    }
    let every_other = (0..ranks).map(|rank| match rank % 2 {
        0 => Split::even(len, ranks.div_ceil(2)).range(rank / 2).len(),
        _ => 0,
    });
    let mut splits = vec![
        Split::even(len, ranks),
        Split::of(&all_at(0)),
        Split::of(&all_at(ranks - 1)),
        Split::of(&halves),
        Split::of(&every_other.collect::<Vec<_>>()),
    ];
    splits.dedup();
    splits
}
