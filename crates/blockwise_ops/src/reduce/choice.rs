//! Which kernel reduces.
//!
//! The last block of [`single`](kernels::reduce::single) waits for the others' results and folds
//! them, which takes 1.3 to 1.7 µs longer than leaving them to the host, which copies a result in
//! any case. Medians on an H200, µs (driver 580, 2026-11-23):
//!
//! | | `shuffle` | `wide` | `single` |
//! | --- | --- | --- | --- |
//! | a few thousand `f32`, sum | 5.1 | | 6.8 |
//! | 2¹⁹, sum | 4.4 | 4.2 | 5.5 |
//! | 2¹⁹, minimum | 4.7 | 4.4 | 5.7 |
//! | 2²⁰, sum | 5.5 | 5.8 | 7.0 |
//! | 2²⁰, minimum | 6.1 | 5.6 | 6.7 |
//! | 2²⁰, dot product | 6.5 | 6.6 | 7.7 |
//! | 2²⁹, sum | 494 | 471 | 473 |

use super::problem::Way;
use super::variants::{AXIS, SHUFFLE, SINGLE, WIDE};
use crate::operation::{Task, Variant};

/// Elements from which [`WIDE`] is faster than [`SHUFFLE`], whatever the type: 2¹⁸ take a minimum of
/// `f32` 0.89 of the time, a sum of `f64` 0.70, a dot product of `f32` 0.90, in graphs on an H200
/// (2026-11-26), and 2¹⁶ sums and dot products 0.87 to 0.96 (2026-11-27).
const WIDE_FROM: usize = 1 << 16;
/// Bytes up to which the last block's fold is more than 2 % of the time of [`SINGLE`].
const WIDE_TO: usize = 256 << 20;

/// The fastest kernel for a problem; [`SINGLE`] if threads or blocks are given.
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let (problem, options) = (task.problem, task.options);
    if Way::of(problem) != Way::Whole {
        return &AXIS;
    }
    let untouched = options.threads.is_none() && options.grid_cap.is_none();
    let len = problem.extents[0];
    let bytes = len.saturating_mul(problem.ty.bytes());
    match (untouched, len < WIDE_FROM) {
        (true, true) => &SHUFFLE,
        (true, false) if bytes <= WIDE_TO => &WIDE,
        _ => &SINGLE,
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::super::variants::TREE;
    use super::super::{DOT, SUM};
    use crate::limits::h200;
    use crate::operation::{self, Given, Operation, Options, Variant};

    use super::*;

    #[track_caller]
    fn chosen(
        operation: &'static Operation,
        ty: Type,
        len: usize,
        options: &Options,
    ) -> &'static Variant {
        let shapes = [&[len][..], &[len]];
        let posed = (operation.pose)(ty, &shapes, &Given::default()).expect("a problem");
        operation::choose(operation, &posed.problem, options, &h200())
            .expect("a kernel")
            .variant
    }

    #[test]
    fn the_kernel_goes_by_the_bytes_unless_it_is_given() {
        let options = Options::default();
        let floats = |len| chosen(&SUM, Type::F32, len, &options);
        assert_eq!(floats(5000), &SHUFFLE);
        assert_eq!(floats(1 << 16), &WIDE);
        let dots = |len| chosen(&DOT, Type::F32, len, &options);
        assert_eq!(dots((1 << 16) - 1), &SHUFFLE);
        assert_eq!(dots(1 << 16), &WIDE);
        assert_eq!(chosen(&DOT, Type::F64, 1 << 18, &options), &WIDE);
        assert_eq!(floats(1 << 29), &SINGLE);
        assert_eq!(floats(1 << 23), &WIDE);
        let fewer = Options {
            grid_cap: Some(1),
            ..options
        };
        assert_eq!(chosen(&SUM, Type::F32, 5, &fewer), &SINGLE);
        assert_eq!(chosen(&SUM, Type::F32, 5, &Options::of(&TREE)), &TREE);
    }

    #[test]
    fn along_an_axis_there_is_one_kernel() {
        let given = Given {
            axis: Some(-1),
            ..Given::default()
        };
        let posed = (SUM.pose)(Type::F32, &[&[3, 5]], &given).expect("a problem");
        assert_eq!(posed.result, [3]);
        let choice = |options| {
            let choice = operation::choose(&SUM, &posed.problem, &options, &h200());
            choice.map(|choice| choice.variant)
        };
        assert_eq!(choice(Options::default()).expect("a kernel"), &AXIS);
        let plan = operation::plan(&SUM, &posed.problem, &Options::of(&TREE), &h200());
        let error = plan.expect_err("it has no lines").to_string();
        assert_eq!(
            error,
            "kernel `tree` reduces whole arrays, not along an axis"
        );
        let whole = (SUM.pose)(Type::F32, &[&[3, 5]], &Given::default()).expect("a problem");
        let plan = operation::plan(&SUM, &whole.problem, &Options::of(&AXIS), &h200());
        assert!(
            plan.expect_err("it is whole")
                .to_string()
                .ends_with("along an axis only")
        );
    }
}
