//! Convolutions.

use ndarray::ArrayView1;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;

use super::work::rungs;
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Random, Size, Sizes, Window, Work};
use crate::device::{Device, DeviceBuffer};
use crate::launch::{ConvKernel, ConvMode, ConvOptions, conv1d};
use crate::oracle::{self, Precision};

/// The table: samples and taps.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let mut works = Vec::new();
    const N: usize = 1 << 26;
    let standard = [5, 10, 31, 32, 63, 255, 1023].map(|taps| [N, taps]);
    let long = [5, 10, 31, 32].map(|taps| [1 << 28, taps]);
    for shape in sizes.pick(false, &[[1 << 22, 31]], &[&standard[..], &long].concat()) {
        works.push(work::<f32>(shape, ConvMode::Same));
    }
    for shape in sizes.pick(false, &[[1 << 20, 10]], &[[1 << 24, 10]]) {
        works.push(work::<f64>(shape, ConvMode::Full));
    }
    works
}

fn work<T: Random + Precision>([len, taps]: [usize; 2], mode: ConvMode) -> Work {
    let mut ways = vec![ConvOptions::default()];
    // Those that can do it on some device.
    let able = ConvKernel::ALL.iter().filter(|kernel| match kernel {
        ConvKernel::BlockPerOutput => T::NAME == "f64" && mode == ConvMode::Full,
        ConvKernel::Window => taps.min(len) <= kernels::conv1d::window::MAX_TAPS,
        _ => true,
    });
    ways.extend(able.map(|&kernel| ConvOptions {
        kernel: Some(kernel),
        ..ConvOptions::default()
    }));
    let describe = |options: &ConvOptions| match options.kernel {
        None => ("default".to_owned(), "the launcher's choice".to_owned()),
        Some(kernel) => (kernel.to_string(), String::new()),
    };
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
        rungs: rungs(&ways, describe),
        problem: Box::new(Convolution {
            len,
            taps,
            outputs,
            mode,
            ways,
            element: std::marker::PhantomData::<T>,
        }),
    }
}

struct Convolution<T> {
    len: usize,
    taps: usize,
    outputs: usize,
    mode: ConvMode,
    ways: Vec<ConvOptions>,
    element: std::marker::PhantomData<T>,
}

struct Copy<T: Random> {
    signal: Window<T>,
    taps: Window<T>,
    signal_there: DeviceBuffer<T>,
    taps_there: DeviceBuffer<T>,
    output: DeviceBuffer<T>,
}

struct OnDevice<'a, T: Random> {
    device: &'a Device,
    problem: &'a Convolution<T>,
    options: ConvOptions,
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
            let signal = inputs.take::<T>(Kind::Uniform, self.len);
            let taps = inputs.take::<T>(Kind::Uniform, self.taps);
            sets.push(Copy {
                signal_there: DeviceBuffer::from_slice(device, &signal)?,
                taps_there: DeviceBuffer::from_slice(device, &taps)?,
                output: DeviceBuffer::alloc(device, self.outputs)?,
                signal,
                taps,
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            options: self.ways[0],
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
    /// Products that the oracle computes for a copy, at most, unless there are fewer than [`Self::FEWEST`] runs.
    const PRODUCTS: usize = 1 << 30;
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
        self.options = self.problem.ways[rung];
        Ok(())
    }

    fn poison(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.output.poison()?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let copy = &mut self.copies[copy];
        let launch = conv1d::bind(
            self.device,
            &copy.signal_there,
            &copy.taps_there,
            &mut copy.output,
            self.problem.mode,
            &self.options,
        )?;
        Ok(launch.enqueue()?)
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let output = copy.output.copy_to_vec()?;
        // The inputs are finite: a NaN is the poison.
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
        let mut check = Check::exact(self.sample.describe(), 0);
        for ((&value, &expected), &tolerance) in
            outputs.iter().zip(&oracle.values).zip(&oracle.tolerance)
        {
            check.element(value, expected, tolerance);
        }
        check
    }
}

fn is_nan<T: Precision>(value: T) -> bool {
    Into::<f64>::into(value).is_nan()
}
