//! Which kernel reduces.
//!
//! The last block of [`single`](kernels::reduce::single) waits for the others' results and folds
//! them, which takes 1.3 to 1.7 µs longer than leaving them to the host, which copies a result in
//! any case (H200, 2026-11-23). For arrays that take hundreds of µs `single` is 1 % slower, since
//! its threads count in 64 bits ([`policy`](kernels::reduce::policy)). For short ones `shuffle` is
//! slower. The table has the time before sums were exact over the time of each kernel, cold as
//! `blockwise bench` launches them (H200, 2026-11-27):
//!
//! | | sum `f32` | dot `f32` | min `f32` | sum `f64` | dot `f64` | min `f64` |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 2¹⁰, `shuffle` | 0.96 | 0.97 | 1.01 | 0.94 | 0.92 | 1.01 |
//! | `wide` | 1.00 | 1.00 | 1.03 | 1.00 | 0.99 | 1.03 |
//! | 2¹³, `shuffle` | 0.96 | 0.97 | 1.01 | 0.95 | 0.93 | 1.01 |
//! | `wide` | 1.01 | 0.99 | 1.04 | 1.00 | 0.99 | 1.03 |

use kernels::reduce::wide::LONGEST;

use super::problem::Way;
use super::variants::{AXIS, SINGLE, WIDE};
use crate::operation::{Task, Variant};

/// The fastest kernel for a problem; [`SINGLE`] if threads or blocks are given, or 32 bits do not
/// count the elements.
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let (problem, options) = (task.problem, task.options);
    if Way::of(problem) != Way::Whole {
        return &AXIS;
    }
    let untouched = options.threads.is_none() && options.grid_cap.is_none();
    match untouched && problem.extents[0] <= LONGEST {
        true => &WIDE,
        false => &SINGLE,
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
    fn the_kernel_goes_by_the_length_unless_it_is_given() {
        let options = Options::default();
        let floats = |len| chosen(&SUM, Type::F32, len, &options);
        for len in [0, 1, 5000, 1 << 18, 1 << 29, LONGEST] {
            assert_eq!(floats(len), &WIDE);
            assert_eq!(chosen(&DOT, Type::F64, len, &options), &WIDE);
        }
        assert_eq!(floats(LONGEST + 1), &SINGLE);
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
