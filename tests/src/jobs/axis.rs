//! Sums, minima and maxima over an axis.

use std::num::NonZeroU32;
use std::sync::Arc;

use blockwise::Device;
use blockwise_ops::operation::{self, Axis, Call, Given, Options, Posed};
use blockwise_ops::oracle::{self, Exact, Precision};
use blockwise_ops::reduce::{PartialOf, SUM, Total, part_of};
use blockwise_ops::{AnyArray, Reduction};
use ndarray::Array1;

use super::described::recorded;
use super::summed::{Judge, Summed};
use super::{Job, exact};
use crate::data::vector;

/// How an axis is divided: blocks at most, and parts of lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Divided {
    pub cap: Option<u32>,
    pub parts: Option<NonZeroU32>,
}

impl Divided {
    fn options(self) -> Options {
        Options {
            grid_cap: self.cap,
            count: self.parts,
            ..Options::default()
        }
    }
}

fn posed<T: Summed>(reduction: Reduction, axis: Axis) -> Posed {
    let of = blockwise_ops::reduce::operation(reduction);
    let shape = [axis.outer, axis.extent, axis.inner];
    let along = Given {
        axis: Some(1),
        ..Given::default()
    };
    let posed = (of.pose)(T::TYPE, &[&shape], &along);
    posed.unwrap_or_else(|error| panic!("{} of {axis:?}: {error}", of.name))
}

/// A sum before its rounding.
fn unrounded<T: Summed>(
    on: &Device,
    (axis, divided): (Axis, Divided),
    input: &Array1<T>,
    judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
) -> Option<Job> {
    let outputs = axis.outer * axis.inner;
    if outputs == 0 {
        return None;
    }
    let case = format!("sums of parts of {axis:?}, {divided:?}");
    let each = size_of::<PartialOf<T>>();
    let input = on.upload(input.as_slice().unwrap_or_default());
    let input = input.expect("a small array");
    let results = on.filled::<u8>(outputs * each, 0xFF);
    let mut results = results.expect("a small array");
    let (from, to) = ([input.as_view().into()], results.as_view_mut().into());
    let problem = part_of(&posed::<T>(Reduction::Sum, axis).problem, axis.extent);
    let mut call = Call::new(on, &SUM, divided.options());
    let plan = call.enqueue_totals(None, &problem, &from, to);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
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
    (axis, divided): (Axis, Divided),
    values: &[T],
    judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
) -> Option<Job> {
    let of = blockwise_ops::reduce::operation(reduction);
    let options = divided.options();
    let posed = posed::<T>(reduction, axis);
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

/// Sums whose rounding hangs on the last bit of either term of a total: three numbers in the first
/// rows, and two far from them.
pub(super) fn at_the_middle<T: Summed + Precision>(jobs: &mut Vec<Job>, on: &Device) {
    // A sum holds all of it: of `f32` the one term, of `f64` the second.
    let step = T::UNIT_ROUNDOFF;
    let is_double = step == f64::UNIT_ROUNDOFF;
    let tiny = 2.0_f64.powi(if is_double { -104 } else { -50 });
    let huge = 2.0_f64.powi(if is_double { 100 } else { 40 });
    const FAR: usize = 1024;
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
        [huge, 0.0, 0.0, 3.0, -huge],
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
        extent: 2 * FAR + 1,
        inner: sums.len(),
    };
    let mut values = vec![T::default(); axis.extent * axis.inner];
    let mut expected: Vec<T> = Vec::new();
    for (column, terms) in sums.iter().enumerate() {
        let mut sum = Exact::default();
        for (row, &term) in [0, 1, 2, FAR, 2 * FAR].into_iter().zip(terms) {
            let term = T::nearest(term);
            values[row * axis.inner + column] = term;
            sum.add(term.into());
        }
        expected.push(sum.nearest());
    }
    let judge = exact(Array1::from(expected));
    let case = "sums at the middle".to_owned();
    jobs.extend(over(
        on,
        case,
        Reduction::Sum,
        (axis, Divided::default()),
        &values,
        judge,
    ));
}

/// Every operation over the middle axis of an array. The last element is the extreme that is looked
/// for, and in another job NaN.
fn over_axis<T: Summed>(jobs: &mut Vec<Job>, on: &Device, axis: Axis, divided: Divided) {
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
    let problem = posed::<T>(Reduction::Sum, axis).problem;
    let error = T::error_along_axis(&problem, &divided.options(), on.properties());
    let sums: Vec<_> = (0..outer * inner)
        .map(|at| T::judge(&lane(&input, at), None, error))
        .collect();
    let sums = Arc::new(sums);
    let judge = |judges: Arc<Vec<Judge<T>>>| {
        move |sums: Vec<T>| {
            let mut pairs = judges.iter().zip(sums);
            pairs.try_for_each(|(judge, sum)| judge(vec![sum]))
        }
    };
    jobs.extend(unrounded(on, (axis, divided), &input, judge(sums.clone())));
    let mut push = |input: &Array1<T>, reduction: Reduction, judge: Judge<T>| {
        let case = format!("{} of {axis:?}, {divided:?}", reduction.name());
        let values = input.as_slice().unwrap_or_default();
        jobs.extend(over(on, case, reduction, (axis, divided), values, judge));
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
    divided: Divided,
) {
    for &[outer, extent, inner] in shapes {
        let axis = Axis {
            outer,
            extent,
            inner,
        };
        over_axis::<i64>(jobs, on, axis, divided);
        over_axis::<f32>(jobs, on, axis, divided);
        over_axis::<f64>(jobs, on, axis, divided);
    }
}
