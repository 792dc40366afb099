//! The reference: one element after the other; sums of floats in two float64.

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

/// What nothing comes to.
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

/// Folds what parts come to, in order, by their bytes.
pub(super) fn fold(problem: &Problem, totals: &[u8]) -> Option<Vec<u8>> {
    let running = running(problem.settings);
    with!(problem.ty, T => {
        let totals = totals.chunks_exact(size_of::<T>());
        let totals = totals.map(bytemuck::pod_read_unaligned::<T>);
        let all = totals.reduce(|before, value| combine(running, before, value));
        all.map(|all| bytemuck::bytes_of(&all).to_vec())
    })
}

pub(super) fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let running = running(asked.problem.settings);
    match (running, asked.problem.ty) {
        (Running::Sum, Type::F32 | Type::F64) => sums(asked),
        (_, ty) => with!(ty, T => exactly::<T>(running, asked)),
    }
}

/// Calls `visit` with each element of the array in order, its column after the axis, and whether it
/// is the first of its line.
fn each(problem: &Problem, mut visit: impl FnMut(usize, usize, bool)) {
    let [extent, outer, inner, _] = problem.extents;
    let mut at = 0;
    for _ in 0..outer {
        for along in 0..extent {
            for column in 0..inner {
                visit(at, column, along == 0);
                at += 1;
            }
        }
    }
}

/// What a part begins with is marked by 1 in the last word.
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
        let bytes = before[0].to_ne_bytes();
        totals.fill(bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()]));
    }
    let begins = before[3] == 0;
    let (mut filled, mut run) = (0, 0);
    each(problem, |at, column, first| {
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
        let mut word = [0; 8];
        word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&total));
        *before = [u64::from_ne_bytes(word), 0, 0, 1];
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
    let start = Total {
        high: f64::from_bits(before[0]),
        low: f64::from_bits(before[1]),
        magnitude: f64::from_bits(before[2]),
        terms: before[3] as usize,
    };
    let steps = by_width!(problem.ty, T => additions::<T>(start.terms + extent, inner));
    let error = oracle::gamma(steps, unit);
    let mut totals = vec![start; inner];
    let mut expected = Vec::with_capacity(runs.iter().map(ExactSizeIterator::len).sum());
    let mut run = 0;
    each(problem, |at, column, first| {
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
        let bits = [total.high, total.low, total.magnitude].map(f64::to_bits);
        *before = [bits[0], bits[1], bits[2], total.terms as u64];
    }
    Ok(Expected::Near(expected))
}
