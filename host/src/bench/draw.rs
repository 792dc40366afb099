//! Sizes drawn at random: what a table of fixed ones cannot show.

use rand::{RngExt, SeedableRng, rngs::StdRng};

use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::Rank;

use super::{Size, Sizes, Work, matmul, operation};

/// Arithmetic operations of a drawn work, at most: the slowest kernels are timed too.
const MOST_OPERATIONS: f64 = 1e10;
/// Elements of an operand or a result, at most.
const MOST_ELEMENTS: f64 = 3e7;

/// `count` works of each operation, at sizes that follow from `seed`. Extents are drawn by their
/// logarithms.
pub(super) fn works(seed: u64, count: usize) -> Vec<Work> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut drawn = |most: &[f64], fits: fn(&[f64]) -> bool| {
        let mut sizes = Vec::new();
        while sizes.len() < count {
            let extent = |&most: &f64| rng.random_range(0.0..most.ln()).exp().floor();
            let extents: Vec<f64> = most.iter().map(extent).collect();
            if fits(&extents) {
                let extents = extents.iter().map(|&extent| extent as usize);
                sizes.push(Size(extents.collect()));
            }
        }
        Sizes::Given(sizes)
    };
    let described = OPERATIONS.iter().map(|of| {
        // The extents of a signal and its taps are not those of an array.
        let sizes = match of.operands[0].rank {
            Rank::Signal => drawn(of.bench.drawn, |size| {
                size[0] * size[1] <= MOST_OPERATIONS && size[0] > size[1]
            }),
            Rank::Matrix | Rank::Any | Rank::Vector => drawn(of.bench.drawn, |size| {
                size.iter().product::<f64>() <= MOST_ELEMENTS
            }),
        };
        operation::works_of(of, &sizes)
    });
    let described: Vec<_> = described.flatten().collect();
    let products = drawn(&[2e4, 2e4, 2e4], |size| {
        let [rows, inner, cols] = [size[0], size[1], size[2]];
        let largest = (rows * inner).max(inner * cols).max(rows * cols);
        largest <= MOST_ELEMENTS && rows * inner * cols <= MOST_OPERATIONS
    });
    let works = [described, matmul::works(&products)];
    works.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_gets_as_many_sizes_and_a_seed_repeats_them() {
        let names = |seed| works(seed, 3).iter().map(Work::name).collect::<Vec<_>>();
        let drawn = names(5);
        for operation in [
            "sum/f32/",
            "dot/f32/",
            "conv-same/f32/",
            "conv-full/f64/",
            "transpose/f32/",
            "transpose/f64/",
            "matmul/f32/",
            "matmul/f64/",
        ] {
            let of = drawn.iter().filter(|name| name.starts_with(operation));
            assert_eq!(of.count(), 3, "{operation} in {drawn:?}");
        }
        assert_eq!(drawn, names(5));
        assert_ne!(drawn, names(6));
    }
}
