//! Sums, minima and maxima over an axis.

use std::sync::Arc;

use blockwise::DeviceProperties;
use blockwise_ops::Reduction;
use blockwise_ops::oracle::{self, Exact, Precision};
use blockwise_ops::reduce::{Axis, PartialOf, Total, plan_axis, plan_runs};
use kernels::reduce::RUN;
use ndarray::Array1;

use super::reduce::{Judge, Summed, total};
use super::{Job, exact};
use crate::data::vector;

/// A sum of one run of rows, before its rounding.
fn of_a_run<T: Summed>(
    on: &DeviceProperties,
    axis: Axis,
    cap: Option<u32>,
    input: &Array1<T>,
    judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
) -> Option<Job> {
    let Axis {
        outer,
        extent,
        inner,
    } = axis;
    if extent > RUN || outer * inner == 0 {
        return None;
    }
    let case = format!("runs of {axis:?}, {cap:?} blocks");
    let plan = plan_runs::<T>(axis, cap, on);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
    let words = size_of::<PartialOf<T>>() / size_of::<u64>();
    let job = Job::new(case, plan, outer * inner * words, move |partials| {
        judge(
            partials
                .chunks(words)
                .map(total::<T>)
                .map(Total::round)
                .collect(),
        )
    });
    let values = input.as_slice().unwrap_or_default();
    let job = job.matrix(values, [outer * extent, inner]);
    Some(job.out(outer * inner).value(extent))
}

/// Sums whose rounding hangs on the last bit of either term of a total: in a thread's first run of
/// rows three numbers, and one in each of two others.
pub(super) fn at_the_middle<T: Summed + Precision>(jobs: &mut Vec<Job>, on: &DeviceProperties) {
    // A total's second term holds both.
    let (step, tiny) = (T::UNIT_ROUNDOFF, 2.0_f64.powi(-104));
    let sums = [
        [1.0, step, 0.0, 0.0, 0.0],
        [1.0, 3.0 * step, 0.0, 0.0, 0.0],
        [1.0, step, 0.0, tiny, 0.0],
        [1.0, 3.0 * step, 0.0, -tiny, 0.0],
        [-1.0, -step, 0.0, -tiny, 0.0],
        [-1.0, -3.0 * step, 0.0, tiny, 0.0],
        [1.0, step, 0.0, tiny, -tiny],
        // One unit of `f64` beyond the middle, but for the rest.
        [1.0, step, 2.0_f64.powi(-52), -tiny, 0.0],
        [2.0_f64.powi(100), 0.0, 0.0, 3.0, -(2.0_f64.powi(100))],
        [T::nearest(f64::MAX).into(), 1.0, 0.0, 2.0, 3.0],
        [1.0, 2.0, 0.0, f64::NEG_INFINITY, 3.0],
        [
            f32::MAX.into(),
            f32::MAX.into(),
            0.0,
            -f64::from(f32::MAX),
            0.5,
        ],
    ];
    let axis = Axis {
        outer: 1,
        extent: 2 * RUN + 1,
        inner: sums.len(),
    };
    let plan = plan_axis::<T>(axis, Reduction::Sum, None, on);
    let plan = plan.expect("a plan").expect("outputs");
    let mut values = vec![T::default(); axis.extent * axis.inner];
    let mut expected: Vec<T> = Vec::new();
    for (column, terms) in sums.iter().enumerate() {
        let mut sum = Exact::default();
        for (row, &term) in [0, 1, 2, RUN, 2 * RUN].into_iter().zip(terms) {
            let term = T::nearest(term);
            values[row * axis.inner + column] = term;
            sum.add(term.into());
        }
        expected.push(sum.nearest());
    }
    let judge = exact(Array1::from(expected));
    let job = Job::new("sums at the middle".to_owned(), plan, axis.inner, judge);
    let job = job.matrix(&values, [axis.extent, axis.inner]);
    jobs.push(job.out(axis.inner).value(axis.extent));
}

/// Every operation over the middle axis of an array. The last element is the extreme that is looked
/// for, and in another job NaN.
fn over_axis<T: Summed>(jobs: &mut Vec<Job>, on: &DeviceProperties, axis: Axis, cap: Option<u32>) {
    let Axis {
        outer,
        extent,
        inner,
    } = axis;
    let input = vector::<T>(23, outer * extent * inner);
    let lane = |input: &Array1<T>, at: usize| {
        let first = at / inner * extent * inner + at % inner;
        Array1::from_iter((0..extent).map(|k| input[first + k * inner]))
    };
    let sums: Vec<_> = (0..outer * inner)
        .map(|at| T::judge(&lane(&input, at), None, T::error_along_axis()))
        .collect();
    let sums = Arc::new(sums);
    let judge = |judges: Arc<Vec<Judge<T>>>| {
        move |sums: Vec<T>| {
            let mut pairs = judges.iter().zip(sums);
            pairs.try_for_each(|(judge, sum)| judge(vec![sum]))
        }
    };
    jobs.extend(of_a_run(on, axis, cap, &input, judge(sums.clone())));
    let mut push = |input: &Array1<T>, reduction: Reduction, judge: Judge<T>| {
        let case = format!("{} of {axis:?}, {cap:?} blocks", reduction.name());
        let plan = plan_axis::<T>(axis, reduction, cap, on);
        let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"));
        let Some(plan) = plan else { return };
        let job = Job::new(case, plan, outer * inner, judge);
        let values = input.as_slice().unwrap_or_default();
        let job = job.matrix(values, [outer * extent, inner]);
        jobs.push(job.out(outer * inner).value(extent));
    };
    push(&input, Reduction::Sum, Box::new(judge(sums)));
    let Some(last) = input.len().checked_sub(1) else {
        return;
    };
    for (reduction, extreme) in [(Reduction::Min, T::LEAST), (Reduction::Max, T::GREATEST)] {
        for value in [Some(extreme), T::NOT_A_NUMBER].into_iter().flatten() {
            let mut input = input.clone();
            input[last] = value;
            let expected = (0..outer * inner).map(|at| match reduction {
                Reduction::Max => oracle::max(lane(&input, at).view()),
                _ => oracle::min(lane(&input, at).view()),
            });
            let expected = Array1::from_iter(expected.map(Option::unwrap_or_default));
            push(&input, reduction, Box::new(exact(expected)));
        }
    }
}

pub(super) fn every_axis(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    shapes: &[[usize; 3]],
    cap: Option<u32>,
) {
    for &[outer, extent, inner] in shapes {
        let axis = Axis {
            outer,
            extent,
            inner,
        };
        over_axis::<i64>(jobs, on, axis, cap);
        over_axis::<f32>(jobs, on, axis, cap);
        over_axis::<f64>(jobs, on, axis, cap);
    }
}
