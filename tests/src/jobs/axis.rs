//! Sums, minima and maxima over an axis.

use std::sync::Arc;

use blockwise::Device;
use blockwise_ops::operation::{self, Axis, Given, Options};
use blockwise_ops::oracle::{self, Exact, Precision};
use blockwise_ops::reduce::{PartialOf, Total, enqueue_runs};
use blockwise_ops::{AnyArray, Reduction};
use kernels::reduce::RUN;
use ndarray::Array1;

use super::described::recorded;
use super::summed::{Judge, Summed};
use super::{Job, exact};
use crate::data::vector;

/// A sum of one run of rows, before its rounding.
fn of_a_run<T: Summed>(
    on: &Device,
    axis: Axis,
    cap: Option<u32>,
    input: &Array1<T>,
    judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
) -> Option<Job> {
    let outputs = axis.outer * axis.inner;
    if axis.extent > RUN || outputs == 0 || !T::TYPE.is_float() {
        return None;
    }
    let case = format!("runs of {axis:?}, {cap:?} blocks");
    let each = size_of::<PartialOf<T>>();
    let input = on.upload(input.as_slice().unwrap_or_default());
    let input = input.expect("a small array");
    let mut results = on.filled(outputs * each, 0xFF_u8).expect("a small array");
    let (from, to) = (input.as_view(), results.as_view_mut());
    let plan = enqueue_runs::<T>(on, None, from, to, axis, cap);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"));
    on.synchronize().expect("a good launch");
    let (mut job, place) = recorded(on, case, &plan);
    job.judge = Arc::new(move |bytes| {
        let results = bytes.get(place.clone()).ok_or("the output is too short")?;
        let totals = results.chunks(each);
        let totals = totals.map(|result| Total::of_results(result, Reduction::Sum).round());
        judge(totals.collect())
    });
    Some(job)
}

/// A reduction of an array over its middle axis; `None` without an output.
fn over<T: Summed>(
    on: &Device,
    case: String,
    reduction: Reduction,
    (axis, cap): (Axis, Option<u32>),
    values: &[T],
    judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
) -> Option<Job> {
    let of = blockwise_ops::reduce::operation(reduction);
    let shape = [axis.outer, axis.extent, axis.inner];
    let along = Given {
        axis: Some(1),
        ..Given::default()
    };
    let options = Options {
        grid_cap: cap,
        ..Options::default()
    };
    let posed = (of.pose)(T::TYPE, &[&shape], &along);
    let posed = posed.unwrap_or_else(|error| panic!("{case}: {error}"));
    let plan = operation::plan(of, &posed.problem, &options, on.properties());
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
    let input = AnyArray::of(ndarray::ArrayView1::from(values).into_dyn());
    let input = input.expect("a small array");
    if let Err(error) = operation::run(on, of, &posed, &options, &[input]) {
        panic!("{case}: {error}");
    }
    let (mut job, place) = recorded(on, case, &plan);
    job.judge = Arc::new(move |bytes| {
        let results = bytes.get(place.clone()).ok_or("the output is too short")?;
        judge(bytemuck::pod_collect_to_vec(results))
    });
    Some(job)
}

/// Sums whose rounding hangs on the last bit of either term of a total: in a thread's first run of
/// rows three numbers, and one in each of two others.
pub(super) fn at_the_middle<T: Summed + Precision>(jobs: &mut Vec<Job>, on: &Device) {
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
    let case = "sums at the middle".to_owned();
    jobs.extend(over(on, case, Reduction::Sum, (axis, None), &values, judge));
}

/// Every operation over the middle axis of an array. The last element is the extreme that is looked
/// for, and in another job NaN.
fn over_axis<T: Summed>(jobs: &mut Vec<Job>, on: &Device, axis: Axis, cap: Option<u32>) {
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
        let values = input.as_slice().unwrap_or_default();
        jobs.extend(over(on, case, reduction, (axis, cap), values, judge));
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
    on: &Device,
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
