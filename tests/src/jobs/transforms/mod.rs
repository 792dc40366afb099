//! Convolutions by transforms. The taps' spectrum is computed here, as a sum in float64. Kernels
//! that transform taps are compared with it; the others take it as an input.

mod matrix;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use blockwise::DeviceProperties;
use blockwise_ops::conv1d::{self, plan};
use blockwise_ops::oracle::{self, Expected, Precision};
use blockwise_ops::{ConvMode, LaunchPlan, Options, Variant};
use kernels::conv1d::fft::kernels as entries;
use kernels::conv1d::fft::shape::*;
use ladder::fft_radix2 as radix2;
use ladder::fft4096_ungapped::{self, Ungapped4096};
use ndarray::{Array1, Ix1};

use super::{Job, within};
use crate::data::{Draw, vector};

/// A complex number.
type Complex = [f64; 2];

/// exp(−2πi·k/n) for each k below n. Cached by n: without that, sines take most of a job's time.
fn roots(n: usize) -> Arc<[Complex]> {
    static ROOTS: LazyLock<Mutex<HashMap<usize, Arc<[Complex]>>>> = LazyLock::new(Mutex::default);
    let root = |k: usize| {
        let angle = -std::f64::consts::TAU * k as f64 / n as f64;
        [angle.cos(), angle.sin()]
    };
    let mut known = ROOTS.lock().expect("no thread panicked");
    known
        .entry(n)
        .or_insert_with(|| (0..n).map(root).collect())
        .clone()
}

fn product(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// Σⱼ xⱼ·exp(−2πi·kⱼ/n) over the terms (xⱼ, kⱼ); n is the number of roots.
fn sum_of(terms: impl Iterator<Item = (Complex, usize)>, roots: &[Complex]) -> Complex {
    terms.fold([0.0; 2], |sum, (x, k)| {
        let turned = product(x, roots[k % roots.len()]);
        [sum[0] + turned[0], sum[1] + turned[1]]
    })
}

fn rounded<T: Precision>(values: &[Complex]) -> Vec<T> {
    let parts = values.as_flattened().iter();
    parts.map(|&part| T::nearest(part)).collect()
}

/// Expects these values, each part within `units` · `magnitude` unit roundoffs.
fn near<T: Precision>(values: &[Complex], magnitude: f64, units: f64) -> Expected<Ix1> {
    let values = Array1::from(values.as_flattened().to_vec());
    let tolerance = values.mapv(|_| units * T::UNIT_ROUNDOFF * magnitude);
    Expected { values, tolerance }
}

/// The frequency that the forward passes leave at a position: the position's digits, one per pass,
/// in reverse order.
fn frequency<S: Shape>(mut position: usize) -> usize {
    let (mut frequency, mut factor) = (0, 1);
    for pass in S::PASSES {
        frequency += position / pass.stride * factor;
        position %= pass.stride;
        factor *= pass.radix;
    }
    frequency
}

/// The frequency at index `at` of a shape's spectrum. Threads write their registers in pairs;
/// adjacent threads write adjacent pairs.
fn in_registers<S: Shape>(at: usize) -> usize {
    let radix = S::PASSES.iter().rfind(|pass| pass.radix > 1);
    let radix = radix.map_or(1, |pass| pass.radix);
    let (pair, thread) = (at / 2 / S::THREADS, at / 2 % S::THREADS);
    let register = 2 * pair + at % 2;
    let butterfly = thread + S::THREADS * (register / radix);
    frequency::<S>(butterfly * radix + register % radix)
}

/// The spectrum of delayed taps, divided by the number of points.
fn spectrum<T: Precision>(
    points: usize,
    taps: &[T],
    shift: usize,
    frequency: impl Fn(usize) -> usize,
) -> Vec<Complex> {
    let taps = taps
        .iter()
        .enumerate()
        .map(|(delay, &tap)| (delay, tap.into()));
    let taps: Vec<(usize, f64)> = taps.filter(|&(_, tap)| tap != 0.0).collect();
    let roots = roots(points);
    let value = |at: usize| {
        let frequency = frequency(at);
        let terms = taps
            .iter()
            .map(|&(delay, tap)| ([tap / points as f64, 0.0], frequency * (delay + shift)));
        sum_of(terms, &roots)
    };
    (0..points).map(value).collect()
}

/// What the kernels of a shape take beside signal and taps.
struct Tables {
    spectrum: Vec<Complex>,
    factors: Vec<Complex>,
    /// Places by which the kernels delay the taps; `None` if they take no shift.
    shift: Option<usize>,
    /// The kernel that convolves takes rows' lengths and pitch; a job has one row.
    of_rows: bool,
}

/// The two complex numbers after a spectrum. The first is the loudest sample that is transformed,
/// and the taps' factor: 1, because these taps are not far from 1. The second is zero.
fn gain<T: Precision>(points: usize, taps: &[T]) -> [Complex; 2] {
    let loudest = taps.iter().map(|&tap| tap.into().abs()).fold(0.0, f64::max);
    let [most, step] = match size_of::<T>() {
        4 => [127, 23],
        _ => [1023, 20],
    };
    let power = match loudest > 0.0 {
        true => most - loudest.log2().floor() as i32 - points.ilog2() as i32 - 3,
        false => most,
    };
    let ceiling = (2.0 - 0.5_f64.powi(step)) * 2_f64.powi(power.min(most));
    [[ceiling, 1.0], [0.0; 2]]
}

fn of_shape<S: Shape, T: Precision>(taps: &[T], shift: usize) -> Tables {
    let mut spectrum = spectrum(S::POINTS, taps, shift, in_registers::<S>);
    spectrum.extend(gain(S::POINTS, taps));
    Tables {
        spectrum,
        factors: factors::<S>(),
        shift: Some(shift),
        of_rows: false,
    }
}

fn of_rows<S: Shape, T: Precision>(taps: &[T], shift: usize) -> Tables {
    Tables {
        of_rows: true,
        ..of_shape::<S, T>(taps, shift)
    }
}

fn of_radix2(taps: &[f32], _: usize) -> Tables {
    Tables {
        spectrum: spectrum(radix2::POINTS, taps, 0, |at| at),
        factors: radix2::roots(),
        shift: None,
        of_rows: false,
    }
}

/// What is convolved.
#[derive(Clone, Copy)]
struct Case {
    samples: usize,
    taps: usize,
    mode: ConvMode,
    grid_cap: Option<u32>,
    /// The index and value of a special sample: infinite, NaN or very large.
    special: Option<(usize, f64)>,
}

const fn case(samples: usize, taps: usize, mode: ConvMode, grid_cap: Option<u32>) -> Case {
    Case {
        samples,
        taps,
        mode,
        grid_cap,
        special: None,
    }
}

/// The kernels of a shape and a type.
struct Shaped {
    convolve: fn(&DeviceProperties, Case) -> Job,
    /// The job of the kernel that transforms taps, by their number and shift.
    taps: fn(usize, usize) -> Job,
}

macro_rules! shaped {
    ($Shape:ty, $t:ty, $Kernel:ident, $taps:ident, $tables:ident) => {
        shaped!($Shape, $t, conv1d::$Kernel, entries::$taps, $tables)
    };
    ($Shape:ty, $t:ty, $Kernel:path, $($taps:ident)::+, $tables:ident) => {
        Shaped {
            convolve: |on, case| {
                convolution::<$t>(on, &$Kernel, case, $tables::<$Shape, $t>)
            },
            taps: |taps, shift| {
                let kernel = $($taps)::+::<$t>::entry().name;
                let shared_bytes = shared_bytes::<$Shape, $t>();
                let plan = launch(kernel, 1, <$Shape>::THREADS, shared_bytes);
                spectrum_of::<$t>(plan, taps, shift, of_shape::<$Shape, $t>)
            },
        }
    };
}

const SHAPES: [Shaped; 7] = [
    shaped!(Points2048, f32, FFT2048, conv1d_taps_fft2048, of_shape),
    shaped!(Points4096, f32, FFT4096, conv1d_taps_fft4096, of_shape),
    shaped!(Points4096, f64, FFT4096, conv1d_taps_fft4096_wide, of_rows),
    shaped!(Points8192, f32, FFT8192, conv1d_taps_fft8192, of_rows),
    shaped!(Points16384, f32, FFT16384, conv1d_taps_fft16384, of_rows),
    shaped!(
        Ungapped4096,
        f32,
        ladder::FFT4096_UNGAPPED,
        fft4096_ungapped::conv1d_taps_fft4096_ungapped,
        of_shape
    ),
    Shaped {
        convolve: |on, case| convolution(on, &ladder::FFT_RADIX2, case, of_radix2),
        taps: |taps, shift| {
            let kernel = radix2::conv1d_taps_fft_radix2::entry().name;
            let plan = launch(kernel, 1, radix2::THREADS as usize, 0);
            spectrum_of(plan, taps, shift, of_radix2)
        },
    },
];

/// The shapes whose mutants stand for the others', which are left out (`INSTANCES` in
/// `mutation/trial.rs`).
const MUTATED: [&Shaped; 2] = [&SHAPES[0], &SHAPES[6]];

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for shape in &SHAPES {
        jobs.push((shape.convolve)(on, case(300, 40, ConvMode::Full, None)));
        jobs.push((shape.taps)(40, 3));
    }
    // Three pairs of windows on one block, or five (`fft-radix2`). The inner ones are inside the
    // signal.
    let several = case(9000, 97, ConvMode::Same, Some(1));
    for shape in MUTATED {
        jobs.push((shape.convolve)(on, several));
        // In the first, a middle and the last pair of windows. The signal's first and last outputs
        // stay finite.
        for special in [
            (1000, f64::NAN),
            (6000, f64::INFINITY),
            (8200, f64::INFINITY),
        ] {
            let special = Some(special);
            jobs.push((shape.convolve)(on, Case { special, ..several }));
        }
        let short = (shape.convolve)(on, case(100, 7, ConvMode::Valid, None));
        jobs.push(short.with_spare_blocks([1, 0, 0]));
        // Direct sums of fewer outputs than threads. 6 and 9 taps are no whole groups: of 16 in
        // `fft-radix2`, of 4 in `fft2048`.
        for taps in [6, 9] {
            let special = Some((50, f64::INFINITY));
            let few = case(100, taps, ConvMode::Valid, None);
            jobs.push((shape.convolve)(on, Case { special, ..few }));
        }
        jobs.push((shape.taps)(1, 0));
    }
    // Taps in every register.
    jobs.push((SHAPES[0].taps)(2040, 3));
    // Too large for transforms in registers, which compute its outputs by direct sums. `fft-radix2`
    // transforms it, so that kernel is left out here.
    let special = Some((6000, 1e36));
    jobs.push((SHAPES[0].convolve)(on, Case { special, ..several }));
    jobs.extend(matrix::of_columns(64, 1, 1));
    jobs.extend(matrix::of_columns(128, 3, 2));
    jobs.extend(matrix::of_rows());
    jobs.extend(matrix::of_outputs());
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for shape in &SHAPES {
        for (samples, taps, mode) in [
            (1, 1, ConvMode::Full),
            (31, 64, ConvMode::Same),
            (2047, 1, ConvMode::Valid),
        ] {
            jobs.push((shape.convolve)(on, case(samples, taps, mode, None)));
            jobs.push((shape.taps)(samples.min(taps), 31));
        }
    }
    // As many outputs as a pair of windows has, one fewer and one more: 3840 in `fft2048`, 2048 in
    // `fft-radix2`.
    for (shape, outputs) in MUTATED.into_iter().zip([3840, 2048]) {
        for samples in [outputs - 1, outputs, outputs + 1] {
            for grid_cap in [None, Some(1)] {
                let case = case(samples, 97, ConvMode::Same, grid_cap);
                jobs.push((shape.convolve)(on, case));
            }
        }
    }
    jobs.extend(matrix::of_columns(64, 2, 1));
    jobs.extend(matrix::of_columns(256, 1, 3));
    jobs.extend(matrix::of_rows());
    jobs.extend(matrix::of_outputs());
    jobs
}

fn launch(kernel: &'static str, blocks: usize, threads: usize, shared_bytes: usize) -> LaunchPlan {
    LaunchPlan {
        kernel,
        grid: [blocks as u32, 1, 1],
        block: [threads as u32, 1, 1],
        dynamic_shared_bytes: shared_bytes as u32,
    }
}

fn convolution<T: Precision + Draw>(
    on: &DeviceProperties,
    kernel: &'static Variant,
    of: Case,
    tables: fn(&[T], usize) -> Tables,
) -> Job {
    let options = Options {
        kernel: Some(kernel),
        grid_cap: of.grid_cap,
        ..Options::default()
    };
    let special = of.special;
    let case = format!(
        "{} samples, {} taps, {}, {special:?}, {options:?}",
        of.samples, of.taps, of.mode
    );
    let planned = plan::<T>(of.samples, of.taps, of.mode, &options, on);
    let planned = planned.unwrap_or_else(|error| panic!("{case}: {error}"));
    let (mut long, mut short) = (vector::<T>(11, of.samples), vector::<T>(12, of.taps));
    if of.taps > of.samples {
        std::mem::swap(&mut long, &mut short);
    }
    let loudest = long.iter().map(|&x| x.into().abs()).fold(0.0, f64::max);
    if let Some((at, value)) = special {
        long[at] = T::nearest(value);
    }
    let mut expected = oracle::convolve::<T>(long.view(), short.view(), of.mode);
    expected.tolerance += oracle::fft_error(loudest, short.view());
    let taps = short.to_vec();
    let outputs = of.mode.outputs(of.samples, of.taps).expect("not empty");
    let tables = tables(&taps, shift(outputs.offset));
    let output_len = outputs.len;
    let job = Job::new(case, planned.launch, output_len, within::<T, _>(expected))
        .slice(&long.to_vec())
        .slice(&taps)
        .slice(&rounded::<T>(&tables.spectrum))
        .slice(&rounded::<T>(&tables.factors))
        .out(output_len)
        .value(outputs.offset);
    let job = match tables.shift {
        Some(shift) => job.value(shift),
        None => job,
    };
    match tables.of_rows {
        true => job.value(long.len()).value(output_len).value(0_usize),
        false => job,
    }
}

fn spectrum_of<T: Precision + Draw>(
    plan: LaunchPlan,
    taps: usize,
    shift: usize,
    tables: fn(&[T], usize) -> Tables,
) -> Job {
    let case = format!("{taps} taps, shifted by {shift}");
    let taps = vector::<T>(12, taps).to_vec();
    let norm: f64 = taps.iter().map(|&tap| tap.into().abs()).sum();
    let tables = tables(&taps, shift);
    let points = tables.spectrum.len();
    let expected = near::<T>(&tables.spectrum, norm / points as f64, 8.0);
    let job = Job::new(case, plan, 2 * points, within::<T, _>(expected))
        .slice(&taps)
        .slice(&rounded::<T>(&tables.factors))
        .out(2 * points);
    match tables.shift {
        Some(shift) => job.value(shift),
        None => job,
    }
}
