//! Sizes drawn at random: what a table of fixed ones cannot show.

use rand::{RngExt, SeedableRng, rngs::StdRng};

use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{Operation, Rank};

use super::{Size, Sizes, Work, operation};

/// Arithmetic operations of a drawn work, at most: the slowest kernels are timed too.
const MOST_OPERATIONS: f64 = 1e10;
/// Elements of an operand or a result, at most.
const MOST_ELEMENTS: f64 = 3e7;

/// `count` works of each operation, at sizes that follow from `seed`. Extents are drawn by their
/// logarithms.
pub(super) fn works(seed: u64, count: usize) -> Vec<Work> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut drawn = |most: &[f64], fits: &dyn Fn(&[f64]) -> bool| {
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
    let works = OPERATIONS.iter().map(|of| {
        let sizes = drawn(of.bench.drawn, &|size| fits(of, size));
        operation::works_of(of, &sizes)
    });
    works.flatten().collect()
}

/// Whether a work of this size is small enough. A multiplication and its addition count as one
/// operation.
fn fits(of: &Operation, size: &[f64]) -> bool {
    let sizes: Vec<_> = size.iter().map(|&extent| extent as usize).collect();
    let (ty, _) = of.bench.types[0];
    // A signal is longer than its taps.
    if of.operands[0].rank == Rank::Signal && size[0] <= size[1] {
        return false;
    }
    operation::posed(of, ty, &sizes, &of.benched(0)).is_ok_and(|posed| {
        let lens = (of.lens)(&posed.problem);
        let largest = lens.inputs.into_iter().fold(lens.output, usize::max);
        let operations = (of.work)(&posed.problem).operations as f64;
        largest as f64 <= MOST_ELEMENTS && operations <= 2.0 * MOST_OPERATIONS
    })
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
