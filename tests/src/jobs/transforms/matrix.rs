//! Transforms as matrices of 32 rows in global memory: the passes over columns and over rows.

use std::sync::LazyLock;

use blockwise_ops::LaunchPlan;
use blockwise_ops::oracle::{self, Expected, Precision};
use kernels::conv1d::fft::columns::{self, RADIX};
use kernels::conv1d::fft::shape::*;
use kernels::conv1d::fft::{levels, rows};
use ndarray::{Array1, ArrayView1};

use super::super::{Job, within};
use super::{gain, in_registers, launch, near, roots, rounded, spectrum, sum_of};
use crate::data::{Draw, vector};

/// The passes over rows: one matrix of 32 of them each.
pub(super) fn of_rows() -> Vec<Job> {
    static JOBS: LazyLock<Vec<Job>> = LazyLock::new(all_rows);
    JOBS.clone()
}

fn all_rows() -> Vec<Job> {
    macro_rules! both {
        ($Shape:ty, $t:ty, $rows:ident) => {
            [
                rows_of::<$Shape, $t>(rows::$rows::<$t>::entry().name),
                taps_rows_of::<$Shape, $t>(rows::$rows::<$t>::entry().name),
            ]
        };
    }
    let jobs = [
        both!(Points2048, f32, conv1d_fft_rows2048),
        both!(Points4096, f32, conv1d_fft_rows4096),
        both!(Points4096, f64, conv1d_fft_rows4096_wide),
        both!(Points8192, f32, conv1d_fft_rows8192),
        both!(Points16384, f32, conv1d_fft_rows16384),
    ];
    jobs.into_iter().flatten().collect()
}

/// Two taps for each row, with which it is convolved as a circle.
fn rows_of<S: Shape, T: Precision + Draw>(kernel: &'static str) -> Job {
    let points = vector::<T>(11, 2 * RADIX * S::POINTS).to_vec();
    let taps = |row: usize| vector::<T>(20 + row as u64, 2).to_vec();
    let rows = (0..RADIX).flat_map(|row| spectrum(S::POINTS, &taps(row), 0, in_registers::<S>));
    // The gain is not read.
    let spectra: Vec<_> = rows.chain([[0.0; 2]; 2]).collect();
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
    let plan = launch(kernel, RADIX - 1, S::THREADS, rows_bytes::<S, T>());
    let case = format!("rows of {} points", S::POINTS);
    Job::new(case, plan, points.len(), within::<T, _>(expected))
        .slice(&rounded::<T>(&spectra))
        .slice(&rounded::<T>(&factors::<S>()))
        .slice::<u32>(&[])
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
        let roots = roots(S::POINTS);
        expected.extend((0..S::POINTS).map(|place| {
            let k = in_registers::<S>(place);
            let term =
                |(i, at): (usize, usize)| ([scale * part(2 * i), scale * part(2 * i + 1)], k * at);
            sum_of(some.into_iter().enumerate().map(term), &roots)
        }));
    }
    // The loudest tap is in the last columns' mark.
    let loudest = T::nearest(0.75);
    expected.extend(gain::<T>(RADIX * S::POINTS, &[loudest]));
    let mut marks = vec![0_u32; marks_len(S::POINTS)];
    let last = marks.len() - 2;
    marks[last] = loudness(loudest);
    let magnitude = 16.0 / (RADIX * S::POINTS) as f64;
    let len = 2 * expected.len();
    let expected = near::<T>(&expected, magnitude, 8.0);
    let plan = launch(kernel, RADIX, S::THREADS, rows_bytes::<S, T>());
    let case = format!("rows of taps, of {} points", S::POINTS);
    Job::new(case, plan, len, within::<T, _>(expected))
        .slice(&points)
        .slice(&rounded::<T>(&factors::<S>()))
        .slice(&marks)
        .out(len)
}

/// How loud the kernels take a number for that is normal.
fn loudness<T: Precision>(number: T) -> u32 {
    let number: f64 = number.into();
    match size_of::<T>() {
        4 => (number.abs() as f32).to_bits(),
        _ => (number.abs().to_bits() >> 32) as u32,
    }
}

/// The first pass over columns, of pairs of windows.
pub(super) fn of_columns(columns: usize, pairs: usize, blocks: usize) -> Vec<Job> {
    let [narrow, wide] = [
        columns::conv1d_fft_columns::<f32>::entry().name,
        columns::conv1d_fft_columns_wide::<f64>::entry().name,
    ];
    let of = Columns {
        columns,
        pairs,
        blocks,
    };
    vec![of.load::<f32>(narrow), of.load::<f64>(wide)]
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

    /// Windows that begin before the signal, the last ones end after it; and taps.
    fn load<T: Precision + Draw>(self, kernel: &'static str) -> Job {
        const BEFORE: usize = 40;
        const SHIFT: usize = 3;
        let samples = 2 * self.pairs * self.kept() - BEFORE;
        let (signal, taps) = (
            vector::<T>(11, samples).to_vec(),
            vector::<T>(12, 9).to_vec(),
        );
        let of = |values: &[T], before: usize, at: usize| {
            let value = at.checked_sub(before).and_then(|at| values.get(at));
            value.map_or(T::nearest(0.0), |&value| value)
        };
        let part = |pair: usize, at: usize| match pair < self.pairs {
            true => {
                let at = 2 * pair * self.kept() + at;
                [at, at + self.kept()].map(|at| of(&signal, BEFORE, at))
            }
            false => [of(&taps, SHIFT, at), T::nearest(0.0)],
        };
        let roots = roots(self.points());
        let (mut points, mut loudest) = (Vec::new(), Vec::new());
        for pair in 0..self.pairs + 1 {
            for at in 0..self.points() {
                let (k, column) = (at / self.columns, at % self.columns);
                let terms = (0..RADIX).map(|r| {
                    let place = r * self.columns + column;
                    (part(pair, place).map(|part| part.into()), k * place)
                });
                points.push(sum_of(terms, &roots));
            }
            for first in (0..self.columns).step_by(32) {
                let places = (0..RADIX).flat_map(|r| (first..first + 32).map(move |c| (r, c)));
                let loud = places.map(|(r, c)| part(pair, r * self.columns + c).map(loudness));
                loudest.push(loud.flatten().max().unwrap_or(0));
            }
        }
        let len = 2 * points.len();
        let expected = within::<T, _>(near::<T>(&points, 4.0 * RADIX as f64, 8.0));
        let bytes = len * size_of::<T>();
        let marks = 2 * loudest.len();
        let judge = move |output: Vec<u8>| {
            let (points, marks) = output.split_at(bytes);
            expected(bytemuck::pod_collect_to_vec(points))?;
            let marks: Vec<[u32; 2]> = bytemuck::pod_collect_to_vec(marks);
            let loud: Vec<_> = marks.iter().map(|mark| mark[0]).collect();
            match loud == loudest {
                true => Ok(()),
                false => Err(format!("{loud:?}, not {loudest:?}, are the loudest")),
            }
        };
        Job::new::<u8>(self.case(), self.plan(kernel), bytes + 4 * marks, judge)
            .slice(&signal)
            .slice(&taps)
            .slice(&self.roots::<T>())
            .out(len)
            .out_from(bytes, marks)
            .value(self.columns)
            .value(0_usize.wrapping_sub(BEFORE))
            .value(self.kept())
            .value(0)
            .value(self.pairs)
            .value(self.pairs)
            .value(SHIFT)
            .value(samples)
            .value(0)
    }
}

/// The last pass over columns: of pairs of windows that are taken as they are, and of a divided one.
pub(super) fn of_outputs() -> Vec<Job> {
    static JOBS: LazyLock<Vec<Job>> = LazyLock::new(all_outputs);
    JOBS.clone()
}

fn all_outputs() -> Vec<Job> {
    macro_rules! both {
        ($Shape:ty, $t:ty, $outputs:ident, $discarded:expr, $rows:expr) => {{
            let kernel = levels::$outputs::<$t>::entry().name;
            [
                outputs_of::<$Shape, $t>(kernel, $discarded),
                levels_of::<$Shape, $t>(kernel, $rows),
            ]
        }};
    }
    // Most of a window is kept, or little. A block has one divided pair after another, or one.
    let most = |points: usize| RADIX * points - 1056;
    let jobs = [
        both!(Points2048, f32, conv1d_fft_outputs2048, 96, 2),
        both!(Points4096, f32, conv1d_fft_outputs4096, most(4096), 1),
        both!(Points4096, f64, conv1d_fft_outputs4096_wide, most(4096), 1),
        both!(Points8192, f32, conv1d_fft_outputs8192, most(8192), 1),
        both!(Points16384, f32, conv1d_fft_outputs16384, most(16384), 1),
    ];
    jobs.into_iter().flatten().collect()
}

/// All outputs of two pairs of windows but a few of the last, with more than a block for each pair.
fn outputs_of<S: Shape, T: Precision + Draw>(kernel: &'static str, discarded: usize) -> Job {
    const PAIRS: usize = 2;
    let columns = S::POINTS;
    let size = RADIX * columns;
    let kept = size - discarded;
    let len = 2 * PAIRS * kept - 37;
    let products = vector::<T>(13, 2 * PAIRS * size).to_vec();
    let part = |at: usize| -> f64 { products[at].into() };
    let roots = roots(size);
    let values = (0..len).map(|i| {
        let (pair, place) = (i / (2 * kept), i % (2 * kept));
        let (later, place) = (place / kept, place % kept + discarded);
        let (k, column) = (place / columns, place % columns);
        // Turned before they are transformed: the roles of k and r are exchanged.
        let terms = (0..RADIX).map(|r| {
            let at = 2 * (pair * size + r * columns + column);
            ([part(at), part(at + 1)], r * (column + k * columns))
        });
        let [re, im] = sum_of(terms, &roots);
        if later == 0 { im } else { re }
    });
    let values: Array1<f64> = values.collect();
    let tolerance = values.mapv(|_| 8.0 * T::UNIT_ROUNDOFF * 4.0 * RADIX as f64);
    // Only their number counts, and the gain.
    let taps = vec![T::nearest(1.0); discarded - 1];
    let mut spectrum = vec![[0.0; 2]; size];
    spectrum.extend(gain(size, &taps));
    let marks = vec![loudness(T::nearest(1.0)); PAIRS * marks_len(columns)];
    let plan = launch(kernel, 3, S::THREADS, levels_bytes::<S, T>());
    let room = products.len() * size_of::<T>();
    let expected = within::<T, _>(Expected { values, tolerance });
    let judge = move |output: Vec<u8>| expected(bytemuck::pod_collect_to_vec(&output[room..]));
    let case = format!("outputs of {PAIRS} pairs of {size} points");
    Job::new::<u8>(case, plan, room + len * size_of::<T>(), judge)
        .slice::<T>(&[])
        .slice(&taps)
        .slice(&rounded::<T>(&spectrum))
        .slice(&rounded::<T>(&factors::<S>()))
        .slice(&rounded::<T>(&columns::roots(columns)))
        .slice(&marks)
        .in_place(&products)
        .out_from(room, len)
        .value(0)
        .value(0)
        .value(0)
        .value(PAIRS)
        .value(PAIRS)
        .value(0)
        .value(len)
        .value(0)
}

/// The levels of pairs of windows that are divided: the second half of each is quieter. A pair is a
/// row, and all rows are alike. Few taps, so that the oracle's sums are short.
fn levels_of<S: Shape, T: Precision + Draw>(kernel: &'static str, rows: usize) -> Job {
    const LEN: usize = 1300;
    // As many as a run has samples, of which three are not zero.
    let mut taps = vec![T::nearest(0.0); S::POINTS / 64];
    for (tap, &value) in [0, 9, S::POINTS / 64 - 1]
        .into_iter()
        .zip(&vector::<T>(12, 3))
    {
        taps[tap] = value;
    }
    let quieter = |(i, sample): (usize, &T)| {
        let sample: f64 = (*sample).into();
        T::nearest(if i < LEN / 2 { sample } else { sample * 1e-6 })
    };
    let signal: Vec<_> = vector::<T>(11, LEN)
        .iter()
        .enumerate()
        .map(quieter)
        .collect();
    let [of_signal, of_taps] = [ArrayView1::from(&signal), ArrayView1::from(&taps)];
    let mut expected = oracle::convolve_part::<T>(of_signal, of_taps, 0..LEN);
    let points = RADIX * S::POINTS;
    expected.tolerance += &oracle::transform_error(of_signal, of_taps, 0..LEN, points);
    // In the order of the rows' registers, which are of one frequency of the columns each.
    let spectrum = spectrum(points, &taps, 0, |at| {
        let (k, place) = (at / S::POINTS, at % S::POINTS);
        k + RADIX * in_registers::<S>(place)
    });
    let spectrum: Vec<_> = spectrum.into_iter().chain(gain(points, &taps)).collect();
    let mut marks = vec![0_u32; marks_len(S::POINTS)];
    marks[0] = loudness(T::nearest(1.0));
    let plan = launch(kernel, 1, S::THREADS, levels_bytes::<S, T>());
    let len = 2 * points * rows;
    let of_row = LEN * size_of::<T>();
    let bytes = of_row * rows;
    let expected = within::<T, _>(expected);
    let judge = move |output: Vec<u8>| {
        let mut rows = output[..bytes].chunks(of_row);
        rows.try_for_each(|row| expected(bytemuck::pod_collect_to_vec(row)))
    };
    let case = format!("levels of {points} points, {rows} pairs");
    // 16 bytes are the alignment of the room.
    let room = bytes.next_multiple_of(16);
    Job::new::<u8>(case, plan, room + len * size_of::<T>(), judge)
        .slice(&signal.repeat(rows))
        .slice(&taps)
        .slice(&rounded::<T>(&spectrum))
        .slice(&rounded::<T>(&factors::<S>()))
        .slice(&rounded::<T>(&columns::roots(S::POINTS)))
        .slice(&marks.repeat(rows))
        .out_from(room, len)
        .out_from(0, LEN * rows)
        .value(0)
        .value(0)
        .value(0)
        .value(rows)
        .value(1)
        .value(LEN)
        .value(LEN)
        .value(LEN)
}
