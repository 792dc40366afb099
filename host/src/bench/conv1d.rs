//! Convolutions.

use std::iter;
use std::num::NonZeroU32;

use blockwise::{Buffer, Device, DeviceProperties, Plain as _};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvKernel, ConvMode, ConvOptions, Float, conv1d};
use kernels::conv1d::policy::FFT_FROM;
use kernels::conv1d::window::MAX_TAPS;
use ndarray::ArrayView1;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;

use super::search::{CHOICE, Search, distinct};
use super::work::{Candidate, DEFAULT, rungs};
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Random, Size, Sizes, Window, Work};

/// The table: samples and taps.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let same = same(sizes).into_iter();
    let same = same.map(|shape| work::<f32>(shape, ConvMode::Same, every_kernel::<f32>(shape)));
    let full = full(sizes).into_iter();
    let full = full.map(|shape| work::<f64>(shape, ConvMode::Full, every_kernel::<f64>(shape)));
    same.chain(full).collect()
}

fn same(sizes: &Sizes) -> Vec<[usize; 2]> {
    const N: usize = 1 << 26;
    let taps = [5, 10, 31, 32, 63, 127, 255, 1023, 4095, 8191, 16383, 65535];
    let standard = taps.map(|taps| [N, taps]);
    let long = [5, 10, 31, 32].map(|taps| [1 << 28, taps]);
    let short = [[1 << 20, 2001]];
    sizes.pick(
        false,
        &[[1 << 22, 31]],
        &[&standard[..], &long, &short].concat(),
    )
}

fn full(sizes: &Sizes) -> Vec<[usize; 2]> {
    sizes.pick(false, &[[1 << 20, 10]], &[[1 << 24, 10], [1_000_000, 2001]])
}

/// Taps from which on direct sums of many outputs take too long to be timed, but for the fastest.
const MANY_TAPS: usize = 1024;

/// Taps from which on transforms through global memory are timed.
const LONG_FROM: usize = 4095;

/// The launcher's choice, and the kernels that can do it on some device.
fn every_kernel<T: Float>([len, taps]: [usize; 2]) -> Vec<Candidate<ConvOptions>> {
    let able = ConvKernel::ALL.iter().filter(|&&kernel| match kernel {
        kernel if kernel.is_block_per_output() => T::NAME == f64::NAME && taps.min(len) < MANY_TAPS,
        kernel if kernel.is_long() && taps.min(len) < LONG_FROM => false,
        kernel if kernel.is_fft() => {
            let taps = taps.min(len);
            taps >= FFT_FROM && conv1d::most_taps::<T>(kernel) >= Some(taps)
        }
        ConvKernel::Window => taps.min(len) <= MAX_TAPS,
        ConvKernel::Blocked => true,
        _ => taps.min(len) < MANY_TAPS,
    });
    let default = Candidate::new(ConvOptions::default(), DEFAULT, CHOICE);
    let candidates = able.map(|&kernel| Candidate::new(of(kernel), kernel, ""));
    iter::once(default).chain(candidates).collect()
}

fn of(kernel: ConvKernel) -> ConvOptions {
    ConvOptions {
        kernel: Some(kernel),
        ..ConvOptions::default()
    }
}

/// The launcher's choice and others: more and fewer tiles for each warp or block, other threads,
/// and the kernels for few outputs.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let same = same(sizes).into_iter();
    let same = same.map(|shape| search::<f32>(shape, ConvMode::Same, properties));
    let full = full(sizes).into_iter();
    let full = full.map(|shape| search::<f64>(shape, ConvMode::Full, properties));
    same.chain(full).collect()
}

fn search<T: Random + Precision>(
    [len, taps]: [usize; 2],
    mode: ConvMode,
    properties: &DeviceProperties,
) -> Search {
    let plan = |options: &ConvOptions| conv1d::plan::<T>(len, taps, mode, options, properties).ok();
    let choice = ConvOptions::default();
    let name = plan(&choice).map_or("none", |plan| plan.kernel.name());
    let mut candidates = every_kernel::<T>([len, taps]);
    candidates[0] = Candidate::new(choice, name, CHOICE);
    for (kernel, whose) in [(ConvKernel::Window, "warp"), (ConvKernel::Blocked, "block")] {
        for each in [1, 2, 3, 4, 8] {
            let options = ConvOptions {
                tiles_each: NonZeroU32::new(each),
                ..of(kernel)
            };
            candidates.push(Candidate::new(
                options,
                kernel,
                format!("tiles a {whose}: {each}"),
            ));
        }
    }
    for kernel in [ConvKernel::Tiled, ConvKernel::Direct] {
        for threads in [128, 256, 512] {
            let options = ConvOptions {
                threads: Some(threads),
                ..of(kernel)
            };
            candidates.push(Candidate::new(
                options,
                kernel,
                format!("{threads} threads"),
            ));
        }
    }
    distinct(&mut candidates, |candidate| {
        Some(plan(&candidate.options)?.launch)
    });
    Search {
        work: work::<T>([len, taps], mode, candidates),
        place: "kernels/src/conv1d/policy.rs",
    }
}

fn work<T: Random + Precision>(
    [len, taps]: [usize; 2],
    mode: ConvMode,
    candidates: Vec<Candidate<ConvOptions>>,
) -> Work {
    let outputs = match mode {
        ConvMode::Full => len + taps - 1,
        ConvMode::Same => len.max(taps),
        ConvMode::Valid => len.abs_diff(taps) + 1,
    };
    Work {
        operation: match mode {
            ConvMode::Full => "conv-full",
            ConvMode::Same => "conv-same",
            ConvMode::Valid => "conv-valid",
        },
        ty: T::NAME,
        size: Size(vec![len, taps]),
        bytes: ((len + taps + outputs) * size_of::<T>()) as u64,
        operations: 2 * (outputs * taps.min(len)) as u64,
        rungs: rungs(&candidates, Candidate::described),
        problem: Box::new(Convolution {
            len,
            taps,
            outputs,
            mode,
            candidates: candidates
                .iter()
                .map(|candidate| candidate.options)
                .collect(),
            element: std::marker::PhantomData::<T>,
        }),
    }
}

struct Convolution<T> {
    len: usize,
    taps: usize,
    outputs: usize,
    mode: ConvMode,
    candidates: Vec<ConvOptions>,
    element: std::marker::PhantomData<T>,
}

struct Copy<T: Random> {
    signal: Window<T>,
    taps: Window<T>,
    signal_there: Buffer<T>,
    taps_there: Buffer<T>,
    output: Buffer<T>,
}

struct OnDevice<'a, T: Random + Precision> {
    device: &'a Device,
    problem: &'a Convolution<T>,
    selected: Option<blockwise_ops::Convolution<T>>,
    copies: Vec<Copy<T>>,
    sample: Sample,
}

impl<T: Random + Precision> Problem for Convolution<T> {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let mut sets = Vec::new();
        for _ in 0..copies {
            let signal = inputs.take::<T>(Kind::Uniform, self.len)?;
            let taps = inputs.take::<T>(Kind::Uniform, self.taps)?;
            sets.push(Copy {
                signal_there: device.upload(&signal)?,
                taps_there: device.upload(&taps)?,
                output: device.zeros(self.outputs)?,
                signal,
                taps,
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            selected: None,
            copies: sets,
            sample: Sample::of(self.outputs, self.taps.min(self.len), inputs.number()),
        }))
    }
}

/// Which outputs are compared, in runs of [`Sample::RUN`].
struct Sample {
    starts: Vec<usize>,
    outputs: usize,
}

impl Sample {
    /// Neighbouring outputs that are computed together.
    const RUN: usize = 4096;
    /// Products that the oracle computes for a copy, at most, unless there are fewer than
    /// [`Self::FEWEST`] runs.
    const PRODUCTS: usize = 1 << 28;
    const FEWEST: usize = 16;

    fn of(outputs: usize, taps: usize, seed: u64) -> Self {
        let runs = outputs.div_ceil(Self::RUN);
        let most = (Self::PRODUCTS / (Self::RUN * taps)).max(Self::FEWEST);
        let starts = if runs <= most {
            (0..runs).map(|run| run * Self::RUN).collect()
        } else {
            let mut rng = StdRng::seed_from_u64(seed);
            // The ends of the signal are always among them.
            let ends = [0, outputs - Self::RUN];
            let others = (2..most).map(|_| rng.random_range(0..outputs - Self::RUN));
            ends.into_iter().chain(others).collect()
        };
        Sample { starts, outputs }
    }

    fn describe(&self) -> String {
        let compared = (self.starts.len() * Self::RUN).min(self.outputs);
        if compared == self.outputs {
            "every output".to_owned()
        } else {
            format!("{compared} of {} outputs, all written", self.outputs)
        }
    }
}

impl<T: Random + Precision> Loaded for OnDevice<'_, T> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        let problem = self.problem;
        let [len, taps] = [problem.len, problem.taps];
        let options = &problem.candidates[rung];
        let selected =
            blockwise_ops::Convolution::new(self.device, len, taps, problem.mode, options)?;
        self.selected = Some(selected);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.output.fill_bytes(0xFF)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let copy = &mut self.copies[copy];
        if let Some(selected) = &mut self.selected {
            selected.enqueue(None, &copy.signal_there, &copy.taps_there, &mut copy.output)?;
        }
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let output = copy.output.to_vec()?;
        // The inputs are finite: a NaN was not written.
        let unwritten = output.par_iter().filter(|value| is_nan(**value)).count() as u64;
        let checks = self.sample.starts.par_iter().map(|&start| {
            let end = (start + Sample::RUN).min(output.len());
            self.compare(copy, start, &output[start..end])
        });
        let none = || Check::exact(self.sample.describe(), 0);
        Ok(checks
            .reduce(none, Check::and)
            .and(Check::exact("", unwritten)))
    }
}

impl<T: Random + Precision> OnDevice<'_, T> {
    /// Compares the outputs from `start` on.
    fn compare(&self, copy: &Copy<T>, start: usize, outputs: &[T]) -> Check {
        let (long, short) = match copy.signal.len() >= copy.taps.len() {
            true => (&copy.signal, &copy.taps),
            false => (&copy.taps, &copy.signal),
        };
        let reach = short.len() - 1;
        let offset = match self.problem.mode {
            ConvMode::Full => 0,
            ConvMode::Same => reach / 2,
            ConvMode::Valid => reach,
        };
        // The samples that these outputs need, with zeros where the signal has none.
        let first = start + offset;
        let needed: Vec<T> = (first..first + outputs.len() + reach)
            .map(|at| {
                let sample = at.checked_sub(reach).and_then(|at| long.get(at));
                sample.copied().unwrap_or_default()
            })
            .collect();
        let oracle = oracle::convolve(
            ArrayView1::from(&needed[..]),
            ArrayView1::from(&short[..]),
            ConvMode::Valid,
        );
        // The inputs' magnitudes are at most 1.
        let by_transforms = self
            .selected
            .as_ref()
            .is_some_and(|candidate| candidate.kernel().is_fft());
        let more = match by_transforms {
            true => oracle::fft_error(1.0, ArrayView1::from(&short[..])),
            false => 0.0,
        };
        let mut check = Check::exact(self.sample.describe(), 0);
        for ((&value, &expected), &tolerance) in
            outputs.iter().zip(&oracle.values).zip(&oracle.tolerance)
        {
            check.element(value, expected, tolerance + more);
        }
        check
    }
}

fn is_nan<T: Precision>(value: T) -> bool {
    Into::<f64>::into(value).is_nan()
}
