//! The reference: one element after the other; sums of floats in two float64.

use std::ops::Range;

use blockwise::Type;
use bytemuck::Pod;
use kernels::scan::additions;

use super::{Running, by_width, running};
use crate::operation::{Asked, Expected, Near, Problem};
use crate::{AnyArray, LaunchError, oracle};

/// Integers whose sums wrap, or numbers in their order.
trait Value: Pod {
    const LEAST: Self;
    const GREATEST: Self;
    fn sum(self, other: Self) -> Self;
    /// NaN if either is.
    fn least(self, other: Self) -> Self;
    /// See [`least`](Self::least).
    fn greatest(self, other: Self) -> Self;
}

macro_rules! values {
    ($($t:ident $least:expr, $greatest:expr, |$a:ident, $b:ident| $sum:expr, $is_nan:expr;)*) => { $(
        impl Value for $t {
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;

            fn sum(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }

            fn least(self, other: Self) -> Self {
                if $is_nan(self) || self <= other { self } else { other }
            }

            fn greatest(self, other: Self) -> Self {
                if $is_nan(self) || self >= other { self } else { other }
            }
        }
    )* };
}
values! {
    i32 Self::MIN, Self::MAX, |a, b| a.wrapping_add(b), |_| false;
    u32 Self::MIN, Self::MAX, |a, b| a.wrapping_add(b), |_| false;
    i64 Self::MIN, Self::MAX, |a, b| a.wrapping_add(b), |_| false;
    u64 Self::MIN, Self::MAX, |a, b| a.wrapping_add(b), |_| false;
    f32 Self::NEG_INFINITY, Self::INFINITY, |a, b| a + b, f32::is_nan;
    f64 Self::NEG_INFINITY, Self::INFINITY, |a, b| a + b, f64::is_nan;
}

fn combine<T: Value>(running: Running, before: T, value: T) -> T {
    match running {
        Running::Sum => before.sum(value),
        Running::Least => before.least(value),
        Running::Greatest => before.greatest(value),
    }
}

/// The result of no elements.
fn nothing<T: Value>(running: Running) -> T {
    match running {
        Running::Sum => T::zeroed(),
        Running::Least => T::GREATEST,
        Running::Greatest => T::LEAST,
    }
}

macro_rules! with {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::F32 => {
                type $T = f32;
                $body
            }
            Type::F64 => {
                type $T = f64;
                $body
            }
            Type::I32 => {
                type $T = i32;
                $body
            }
            Type::U32 => {
                type $T = u32;
                $body
            }
            Type::I64 => {
                type $T = i64;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}

/// Folds the totals of parts in order; all are given as bytes.
pub(super) fn fold(problem: &Problem, totals: &[u8]) -> Option<Vec<u8>> {
    let running = running(problem.settings);
    with!(problem.ty, T => {
        let totals = totals.chunks_exact(size_of::<T>());
        let totals = totals.map(bytemuck::pod_read_unaligned::<T>);
        let all = totals.reduce(|before, value| combine(running, before, value));
        all.map(|all| bytemuck::bytes_of(&all).to_vec())
    })
}

/// Joins the results of two successive parts.
pub(super) fn joined(problem: &Problem, before: [u64; 4], part: [u64; 4]) -> [u64; 4] {
    let running = running(problem.settings);
    match (running, problem.ty) {
        (Running::Sum, Type::F32 | Type::F64) => {
            Total::of_words(before).and(Total::of_words(part)).words()
        }
        _ if before[3] == 0 => part,
        (_, ty) => with!(ty, T => {
            let [a, b] = [before, part].map(value_of::<T>);
            words_of(combine(running, a, b))
        }),
    }
}

/// The result of a part, for integers and extremes: its bytes, and a mark that there is one.
fn words_of<T: Value>(value: T) -> [u64; 4] {
    let mut word = [0; 8];
    word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    [u64::from_ne_bytes(word), 0, 0, 1]
}

fn value_of<T: Value>(words: [u64; 4]) -> T {
    bytemuck::pod_read_unaligned(&words[0].to_ne_bytes()[..size_of::<T>()])
}

pub(super) fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let running = running(asked.problem.settings);
    match (running, asked.problem.ty) {
        (Running::Sum, Type::F32 | Type::F64) => sums(asked),
        (_, ty) => with!(ty, T => exactly::<T>(running, asked)),
    }
}

/// Calls `visit` with each element of the array in order, its column after the axis, and whether it
/// is the first of its line. Of several groups of lines, those that have none of the runs are left
/// out.
fn each(problem: &Problem, runs: &[Range<usize>], mut visit: impl FnMut(usize, usize, bool)) {
    let [extent, outer, inner, _] = problem.extents;
    let group = extent.saturating_mul(inner).max(1);
    let groups = match (runs, outer) {
        ([first, .., last], 2..) => first.start / group..last.end.div_ceil(group),
        ([run], 2..) => run.start / group..run.end.div_ceil(group),
        _ => 0..outer,
    };
    let mut at = groups.start * group;
    for _ in groups {
        for along in 0..extent {
            for column in 0..inner {
                visit(at, column, along == 0);
                at += 1;
            }
        }
    }
}

fn exactly<T: Value>(running: Running, asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let Asked {
        problem,
        inputs,
        runs,
        before,
    } = asked;
    let exclusive = problem.settings[1] != 0;
    let input: &[T] = inputs[0].words();
    let wanted: usize = runs.iter().map(ExactSizeIterator::len).sum();
    let mut output = AnyArray::zeros(problem.ty, &[wanted])?;
    let to: &mut [T] = bytemuck::cast_slice_mut(output.bytes_mut());
    let mut totals = vec![nothing::<T>(running); problem.extents[2]];
    if before[3] == 1 {
        totals.fill(value_of(*before));
    }
    let begins = before[3] == 0;
    let (mut filled, mut run) = (0, 0);
    each(problem, runs, |at, column, first| {
        let total = &mut totals[column];
        if first && (begins || problem.extents[1] > 1) {
            *total = nothing(running);
        }
        let next = combine(running, *total, input[at]);
        while runs.get(run).is_some_and(|wanted| wanted.end <= at) {
            run += 1;
        }
        if runs.get(run).is_some_and(|wanted| wanted.contains(&at)) {
            to[filled] = if exclusive { *total } else { next };
            filled += 1;
        }
        *total = next;
    });
    if let [total] = totals[..] {
        *before = words_of(total);
    }
    Ok(Expected::Exact(output))
}

/// A sum in two float64, the second one what the first has lost (Knuth, *The Art of Computer
/// Programming*, volume 2, 4.2.2, theorem B), and the sum of magnitudes.
#[derive(Clone, Copy, Default)]
struct Total {
    high: f64,
    low: f64,
    magnitude: f64,
    terms: usize,
}

impl Total {
    fn add(self, value: f64) -> Self {
        let high = self.high + value;
        let part = high - self.high;
        let lost = (self.high - (high - part)) + (value - part);
        // Of infinities nothing is lost.
        let lost = if lost.is_finite() { lost } else { 0.0 };
        Self {
            high,
            low: self.low + lost,
            magnitude: self.magnitude + value.abs(),
            terms: self.terms + 1,
        }
    }

    /// The sum of both.
    fn and(self, part: Self) -> Self {
        let sum = self.add(part.high);
        Self {
            low: sum.low + part.low,
            magnitude: self.magnitude + part.magnitude,
            terms: self.terms + part.terms,
            ..sum
        }
    }

    fn words(self) -> [u64; 4] {
        let [high, low, magnitude] = [self.high, self.low, self.magnitude].map(f64::to_bits);
        [high, low, magnitude, self.terms as u64]
    }

    fn of_words([high, low, magnitude, terms]: [u64; 4]) -> Self {
        let [high, low, magnitude] = [high, low, magnitude].map(f64::from_bits);
        Self {
            high,
            low,
            magnitude,
            terms: terms as usize,
        }
    }
}

fn sums(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let Asked {
        problem,
        inputs,
        runs,
        before,
    } = asked;
    let [extent, outer, inner, _] = problem.extents;
    let exclusive = problem.settings[1] != 0;
    let is_f32 = problem.ty == Type::F32;
    let unit = 2_f64.powi(if is_f32 { -24 } else { -53 });
    let start = Total::of_words(*before);
    let steps = by_width!(problem.ty, T => additions::<T>(start.terms + extent, inner));
    let error = oracle::gamma(steps, unit);
    let mut totals = vec![start; inner];
    let mut expected = Vec::with_capacity(runs.iter().map(ExactSizeIterator::len).sum());
    let mut run = 0;
    each(problem, runs, |at, column, first| {
        let total = &mut totals[column];
        if first && outer > 1 {
            *total = Total::default();
        }
        let next = total.add(inputs[0].number(at).to_f64());
        while runs.get(run).is_some_and(|wanted| wanted.end <= at) {
            run += 1;
        }
        if runs.get(run).is_some_and(|wanted| wanted.contains(&at)) {
            let of = if exclusive { *total } else { next };
            let value = of.high + of.low;
            expected.push(Near {
                value: if is_f32 {
                    f64::from(value as f32)
                } else {
                    value
                },
                tolerance: error * of.magnitude.min(f64::MAX) + unit * value.abs().min(f64::MAX),
                magnitude: of.magnitude,
                terms: of.terms,
            });
        }
        *total = next;
    });
    if let [total] = totals[..] {
        *before = total.words();
    }
    Ok(Expected::Near(expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Axis, Given, Parts};
    use crate::scan::SCAN;

    const TYPES: [Type; 6] = [
        Type::F32,
        Type::F64,
        Type::I32,
        Type::U32,
        Type::I64,
        Type::U64,
    ];

    /// Whole numbers, whose sums are exact: the pieces' values are those of the whole. None is 0, so
    /// that a part of none counts as nothing and not as a 0.
    fn numbers(ty: Type, len: usize) -> AnyArray {
        let mut array = AnyArray::zeros(ty, &[len]).unwrap();
        with!(ty, T => {
            let values: &mut [T] = bytemuck::cast_slice_mut(array.bytes_mut());
            for (at, value) in values.iter_mut().enumerate() {
                *value = (at * 7919 % 17 + 1) as T;
            }
        });
        array
    }

    fn values(expected: Expected) -> Vec<(f64, f64, usize)> {
        match expected {
            Expected::Exact(array) => {
                let numbers = (0..array.len()).map(|at| array.number(at).to_f64());
                numbers.map(|value| (value, 0.0, 0)).collect()
            }
            Expected::Near(near) => {
                let of = |near: &Near| (near.value, near.magnitude, near.terms);
                near.iter().map(of).collect()
            }
        }
    }

    #[test]
    fn pieces_continue_from_what_the_earlier_ones_come_to() {
        let Parts::Carried(carry) = SCAN.parts else {
            panic!("scans are carried");
        };
        let (len, cuts) = (1000, [0, 1, 8, 8, 512, 513, 1000]);
        for ty in TYPES {
            let whole = numbers(ty, len);
            for settings in [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]] {
                let given = Given {
                    settings,
                    axis: None,
                };
                let ask =
                    |start: usize, end: usize, wanted: Range<usize>, before: &mut [u64; 4]| {
                        let problem = (SCAN.pose)(ty, &[&[end - start]], &given).unwrap().problem;
                        let mut input = AnyArray::zeros(ty, &[end - start]).unwrap();
                        let bytes = start * ty.bytes()..end * ty.bytes();
                        input.bytes_mut().copy_from_slice(&whole.bytes()[bytes]);
                        let asked = Asked {
                            problem: &problem,
                            inputs: &[input],
                            runs: std::slice::from_ref(&wanted),
                            before,
                        };
                        let expected = values(reference(asked).unwrap());
                        (problem, expected)
                    };
                let mut end = [0; 4];
                let (problem, expected) = ask(0, len, 0..len, &mut end);
                let (mut before, mut pieces) = ([0; 4], Vec::new());
                for cut in cuts.windows(2) {
                    let mut part = [0; 4];
                    ask(cut[0], cut[1], 0..0, &mut part);
                    let all = 0..cut[1] - cut[0];
                    let mut begin = before;
                    pieces.extend(ask(cut[0], cut[1], all, &mut begin).1);
                    before = (carry.joined)(&problem, before, part);
                }
                assert_eq!(pieces, expected, "{ty} {settings:?}");
                assert_eq!(before, end, "{ty} {settings:?}");
            }
        }
    }

    #[test]
    fn runs_of_lines_are_those_of_the_whole() {
        let shape = [5, 7, 3];
        for (ty, axis) in [
            (Type::F32, -1),
            (Type::I64, 1),
            (Type::F64, 1),
            (Type::F64, 0),
        ] {
            let given = Given {
                settings: [0, 0],
                axis: Some(axis),
            };
            let problem = (SCAN.pose)(ty, &[&shape], &given).unwrap().problem;
            let Axis { outer, .. } = Axis::of(&shape, Some(axis)).unwrap();
            assert_eq!(problem.extents[1], outer);
            let input = [numbers(ty, 105)];
            let of = |runs: &[Range<usize>]| {
                let asked = Asked {
                    problem: &problem,
                    inputs: &input,
                    runs,
                    before: &mut [0; 4],
                };
                values(reference(asked).unwrap())
            };
            let whole = of(std::slice::from_ref(&(0..105)));
            let check = |runs: &[Range<usize>]| {
                let expected = runs.iter().flat_map(|run| &whole[run.clone()]);
                assert_eq!(of(runs), expected.copied().collect::<Vec<_>>(), "{runs:?}");
            };
            for run in [0..1, 20..43, 99..105] {
                check(std::slice::from_ref(&run));
            }
            check(&[21..42, 104..105]);
        }
    }
}
