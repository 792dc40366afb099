//! Transforms as matrices of 32 rows in global memory: the passes over columns and over rows.

use blockwise_ops::LaunchPlan;
use blockwise_ops::oracle::{self, Expected, Precision};
use kernels::conv1d::fft::columns::{self, RADIX};
use kernels::conv1d::fft::rows;
use kernels::conv1d::fft::shape::*;
use ndarray::Array1;

use super::super::{Job, within};
use super::{in_registers, launch, near, of_shape, rounded, sum_of};
use crate::data::{Draw, vector};

/// The passes over rows: one matrix of 32 of them each.
pub(super) fn of_rows() -> Vec<Job> {
    macro_rules! both {
        ($Shape:ty, $t:ty, $rows:ident, $taps:ident) => {
            [
                rows_of::<$Shape, $t>(rows::$rows::<$t>::entry().name),
                taps_rows_of::<$Shape, $t>(rows::$taps::<$t>::entry().name),
            ]
        };
    }
    let jobs = [
        both!(
            Points2048,
            f32,
            conv1d_fft_rows2048,
            conv1d_fft_taps_rows2048
        ),
        both!(
            Points4096,
            f32,
            conv1d_fft_rows4096,
            conv1d_fft_taps_rows4096
        ),
        both!(
            Points4096,
            f64,
            conv1d_fft_rows4096_wide,
            conv1d_fft_taps_rows4096_wide
        ),
        both!(
            Points8192,
            f32,
            conv1d_fft_rows8192,
            conv1d_fft_taps_rows8192
        ),
        both!(
            Points16384,
            f32,
            conv1d_fft_rows16384,
            conv1d_fft_taps_rows16384
        ),
    ];
    jobs.into_iter().flatten().collect()
}

/// Two taps for each row, with which it is convolved as a circle.
fn rows_of<S: Shape, T: Precision + Draw>(kernel: &'static str) -> Job {
    let points = vector::<T>(11, 2 * RADIX * S::POINTS).to_vec();
    let taps = |row: usize| vector::<T>(20 + row as u64, 2).to_vec();
    let spectra = (0..RADIX).flat_map(|row| of_shape::<S, T>(&taps(row), 0).spectrum);
    let spectra: Vec<_> = spectra.collect();
    let mut expected = Vec::new();
    for row in 0..RADIX {
        let [first, second] = [0, 1].map(|delay| -> f64 { taps(row)[delay].into() });
        let part = |at: usize| -> f64 { points[2 * row * S::POINTS + at].into() };
        for at in 0..S::POINTS {
            let before = (at + S::POINTS - 1) % S::POINTS;
            let sum = |of: usize| first * part(2 * at + of) + second * part(2 * before + of);
            // With swapped parts.
            expected.push([sum(1), sum(0)]);
        }
    }
    let expected = near::<T>(&expected, 32.0, 8.0);
    // Fewer blocks than rows.
    let plan = launch(kernel, RADIX - 1, S::THREADS, shared_bytes::<S, T>());
    let case = format!("rows of {} points", S::POINTS);
    Job::new(case, plan, points.len(), within::<T, _>(expected))
        .slice(&rounded::<T>(&spectra))
        .slice(&rounded::<T>(&factors::<S>()))
        .in_place(&points)
}

/// A few points of each row that are not zero.
fn taps_rows_of<S: Shape, T: Precision + Draw>(kernel: &'static str) -> Job {
    let mut points = vec![T::nearest(0.0); 2 * RADIX * S::POINTS];
    let mut expected = Vec::new();
    for row in 0..RADIX {
        let some = [0, 1, S::POINTS / 3 + 7 * row];
        let values = vector::<T>(20 + row as u64, 2 * some.len()).to_vec();
        let part = |at: usize| -> f64 { values[at].into() };
        for (i, at) in some.into_iter().enumerate() {
            let to = 2 * (row * S::POINTS + at);
            points[to..to + 2].copy_from_slice(&values[2 * i..2 * i + 2]);
        }
        let scale = 1.0 / (RADIX * S::POINTS) as f64;
        expected.extend((0..S::POINTS).map(|place| {
            let k = in_registers::<S>(place);
            let term =
                |(i, at): (usize, usize)| ([scale * part(2 * i), scale * part(2 * i + 1)], k * at);
            sum_of(some.into_iter().enumerate().map(term), S::POINTS)
        }));
    }
    let magnitude = 16.0 / (RADIX * S::POINTS) as f64;
    let expected = near::<T>(&expected, magnitude, 8.0);
    let plan = launch(kernel, RADIX, S::THREADS, shared_bytes::<S, T>());
    let case = format!("rows of {} points", S::POINTS);
    Job::new(case, plan, points.len(), within::<T, _>(expected))
        .slice(&points)
        .slice(&rounded::<T>(&factors::<S>()))
        .out(points.len())
}

/// Both passes over columns, of pairs of windows.
pub(super) fn of_columns(columns: usize, pairs: usize, blocks: usize) -> Vec<Job> {
    let [narrow, wide] = [
        columns::conv1d_fft_columns::<f32>::entry().name,
        columns::conv1d_fft_columns_wide::<f64>::entry().name,
    ];
    let [narrow_outputs, wide_outputs] = [
        columns::conv1d_fft_outputs::<f32>::entry().name,
        columns::conv1d_fft_outputs_wide::<f64>::entry().name,
    ];
    let of = Columns {
        columns,
        pairs,
        blocks,
    };
    let mut jobs = vec![of.load::<f32>(narrow), of.load::<f64>(wide)];
    for special in [false, true] {
        jobs.push(of.store::<f32>(narrow_outputs, special));
        jobs.push(of.store::<f64>(wide_outputs, special));
    }
    jobs
}

/// Transforms as matrices of 32 rows.
#[derive(Clone, Copy)]
struct Columns {
    columns: usize,
    pairs: usize,
    blocks: usize,
}

impl Columns {
    /// Outputs of a window that are not written.
    const DISCARDED: usize = 96;

    fn points(self) -> usize {
        RADIX * self.columns
    }

    fn kept(self) -> usize {
        self.points() - Self::DISCARDED
    }

    fn plan(self, kernel: &'static str) -> LaunchPlan {
        launch(kernel, self.blocks, columns::THREADS as usize, 0)
    }

    fn case(self) -> String {
        format!("{} pairs of {} columns", self.pairs, self.columns)
    }

    fn roots<T: Precision>(self) -> Vec<T> {
        rounded::<T>(&columns::roots(self.columns))
    }

    /// Windows that begin before the signal; the last ones end after it.
    fn load<T: Precision + Draw>(self, kernel: &'static str) -> Job {
        const BEFORE: usize = 40;
        let samples = 2 * self.pairs * self.kept() - BEFORE;
        let signal = vector::<T>(11, samples).to_vec();
        let sample = |at: usize| {
            let sample = at.checked_sub(BEFORE).and_then(|at| signal.get(at));
            sample.map_or(0.0, |&sample| sample.into())
        };
        let mut points = Vec::new();
        for pair in 0..self.pairs {
            let first = 2 * pair * self.kept();
            for at in 0..self.points() {
                let (k, column) = (at / self.columns, at % self.columns);
                let terms = (0..RADIX).map(|r| {
                    let place = r * self.columns + column;
                    let at = first + place;
                    ([sample(at), sample(at + self.kept())], k * place)
                });
                points.push(sum_of(terms, self.points()));
            }
        }
        let len = 2 * points.len();
        let expected = near::<T>(&points, 4.0 * RADIX as f64, 8.0);
        let plan = self.plan(kernel);
        Job::new(self.case(), plan, len, within::<T, _>(expected))
            .slice(&signal)
            .slice(&self.roots::<T>())
            .out(len)
            .value(self.columns)
            .value(0_usize.wrapping_sub(BEFORE))
            .value(self.kept())
    }

    /// All outputs but a few of the last window; a column that is not finite, if `special`.
    fn store<T: Precision + Draw>(self, kernel: &'static str, special: bool) -> Job {
        const OFFSET: usize = 5;
        let len = 2 * self.pairs * self.kept() - 37;
        let (signal, taps) = (vector::<T>(11, len), vector::<T>(12, 9));
        let mut points = vector::<T>(13, 2 * self.pairs * self.points()).to_vec();
        let nan = Self::DISCARDED % self.columns;
        if special {
            points[2 * nan] = T::nearest(f64::NAN);
        }
        let part = |at: usize| -> f64 { points[at].into() };
        let (mut values, mut tolerance) = (Vec::new(), Vec::new());
        for i in 0..len {
            let (pair, place) = (i / (2 * self.kept()), i % (2 * self.kept()));
            let (later, place) = (place / self.kept(), place % self.kept() + Self::DISCARDED);
            let (k, column) = (place / self.columns, place % self.columns);
            if special && pair == 0 && column == nan {
                let outputs = i + OFFSET..i + OFFSET + 1;
                let direct = oracle::convolve_part::<T>(signal.view(), taps.view(), outputs);
                values.push(direct.values[0]);
                tolerance.push(direct.tolerance[0]);
                continue;
            }
            // Turned before they are transformed: the roles of k and r are exchanged.
            let terms = (0..RADIX).map(|r| {
                let at = 2 * (pair * self.points() + r * self.columns + column);
                let turns = r * (column + k * self.columns);
                ([part(at), part(at + 1)], turns)
            });
            let [re, im] = sum_of(terms, self.points());
            values.push(if later == 0 { im } else { re });
            tolerance.push(8.0 * T::UNIT_ROUNDOFF * 4.0 * RADIX as f64);
        }
        let expected = Expected {
            values: Array1::from(values),
            tolerance: Array1::from(tolerance),
        };
        let plan = self.plan(kernel);
        Job::new(self.case(), plan, len, within::<T, _>(expected))
            .slice(&points)
            .slice(&self.roots::<T>())
            .slice(&signal.to_vec())
            .slice(&taps.to_vec())
            .out(len)
            .value(OFFSET)
            .value(self.columns)
            .value(Self::DISCARDED)
    }
}
