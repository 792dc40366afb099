//! Convolutions.

use blockwise::DeviceProperties;
use blockwise_ops::conv1d::plan;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvKernel, ConvMode, ConvOptions};

use super::{Job, within};
use crate::data::{Draw, vector};

type Lengths = (usize, usize);

/// The kernels that take any block.
const OF_ANY_BLOCK: [ConvKernel; 3] = [ConvKernel::Tiled, ConvKernel::TiledRaw, ConvKernel::Direct];

/// The kernels with a block per output.
const BLOCK_PER_OUTPUT: [ConvKernel; 2] =
    [ConvKernel::BlockPerOutput, ConvKernel::BlockPerOutputRaw];

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for kernel in OF_ANY_BLOCK {
        let mut add = |lengths, mode, cap, spare| {
            let options = with(kernel, Some(32), cap);
            let both = [
                job::<f32>(on, lengths, mode, options),
                job::<f64>(on, lengths, mode, options),
            ];
            jobs.extend(both.map(|job| if spare { job.with_spare_blocks(1) } else { job }));
        };
        add((150, 9), ConvMode::Same, Some(3), false);
        // More taps than threads, and than samples.
        add((33, 40), ConvMode::Full, None, false);
        // Whole tiles only.
        add((64, 5), ConvMode::Same, None, true);
        // Whole groups of taps, and every smaller group after them.
        add((128, 95), ConvMode::Full, None, false);
        add((1, 1), ConvMode::Valid, None, false);
        // More outputs than the full convolution has: no tap meets the signal there.
        let options = with(kernel, Some(32), None);
        jobs.push(longer::<f32>(on, (20, 4), 40, options));
        jobs.push(longer::<f64>(on, (20, 4), 40, options));
    }
    jobs.extend(in_registers(on));
    // One tap less than two whole groups of them, where no tile is whole.
    let options = with(ConvKernel::Blocked, None, Some(1));
    jobs.push(job::<f32>(on, (80, 31), ConvMode::Full, options));
    jobs.push(job::<f64>(on, (80, 31), ConvMode::Full, options));
    for kernel in BLOCK_PER_OUTPUT {
        let options = with(kernel, None, Some(5));
        jobs.push(job::<f64>(on, (20, 37), ConvMode::Full, options));
        let options = with(kernel, None, None);
        // The kernel adds eight products at a time: none, two rounds, and a rest.
        for taps in [5, 16, 19] {
            jobs.push(job::<f64>(on, (40, taps), ConvMode::Full, options).with_spare_blocks(1));
        }
    }
    jobs
}

/// Tiles of the kernels in registers: 20 outputs of `f32` and 10 of `f64` for each thread of a
/// warp, or of four.
fn in_registers(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (kernel, span, tiles) in [
        (ConvKernel::Window, 640, 10),
        (ConvKernel::Blocked, 2560, 4),
    ] {
        let options = with(kernel, None, Some(1));
        // One whole tile, with an end or two. `window` has the taps of one pack before its steps;
        // it moves the taps to a place in that pack that mode valid varies and mode full does not.
        let window = kernel == ConvKernel::Window;
        let shape = |span: usize, lanes: usize, before: usize, taps: usize| {
            if window {
                ((2 * span + 3, lanes - 1 + before + taps), ConvMode::Full)
            } else {
                ((span + before + taps + 2, before + taps), ConvMode::Valid)
            }
        };
        // Every number of taps that can be left for the last step, after none, one and two whole
        // ones.
        for whole in 0..=2 {
            for taps in 1..=20 {
                let (lengths, mode) = shape(span, 4, 20 * whole, taps);
                jobs.push(job::<f32>(on, lengths, mode, options));
            }
            for taps in 1..=10 {
                let (lengths, mode) = shape(span / 2, 2, 10 * whole, taps);
                jobs.push(job::<f64>(on, lengths, mode, options));
            }
        }
        for taps in 1..=4 {
            for mode in [ConvMode::Valid, ConvMode::Full] {
                jobs.push(job::<f32>(on, (2 * span + 3, taps), mode, options));
                jobs.push(job::<f64>(on, (span + 3, taps), mode, options));
            }
        }
        // As many as two steps in a loop and all but one more, after which it must end.
        let taps = if window { 41 } else { 39 };
        let lengths = (span / 2 + 40, taps);
        jobs.push(job::<f64>(on, lengths, ConvMode::Valid, options));
        // Several tiles for each warp or block, ends on both sides.
        for (mode, taps) in [(ConvMode::Same, 33), (ConvMode::Full, 64)] {
            jobs.push(job::<f32>(on, (span * tiles + 7, taps), mode, options));
            jobs.push(job::<f64>(on, (span / 2 * tiles + 7, taps), mode, options));
        }
        // More outputs than the full convolution has.
        jobs.push(longer::<f32>(on, (20, 4), 40, options));
        jobs.push(longer::<f64>(on, (20, 4), 40, options));
        let options = with(kernel, None, None);
        let short = job::<f32>(on, (700, 5), ConvMode::Full, options);
        jobs.push(short.with_spare_blocks(1));
        let short = job::<f64>(on, (700, 5), ConvMode::Full, options);
        jobs.push(short.with_spare_blocks(1));
    }
    // More taps than shared memory holds at a time.
    let options = with(ConvKernel::Blocked, None, None);
    jobs.push(job::<f32>(on, (2560 + 100, 79), ConvMode::Valid, options));
    jobs.push(job::<f32>(on, (2560 + 700, 520), ConvMode::Valid, options));
    jobs.push(job::<f64>(on, (1280 + 700, 520), ConvMode::Valid, options));
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let lengths = [
        (1, 1),
        (1, 5),
        (31, 64),
        (255, 1),
        (256, 2),
        (257, 3),
        (509, 31),
        (255, 256),
    ];
    let mut jobs = Vec::new();
    for lengths in lengths {
        for cap in [None, Some(1)] {
            for &mode in ConvMode::ALL {
                for kernel in OF_ANY_BLOCK {
                    jobs.push(job::<f32>(on, lengths, mode, with(kernel, None, cap)));
                    jobs.push(job::<f64>(on, lengths, mode, with(kernel, Some(96), cap)));
                }
            }
        }
        for kernel in BLOCK_PER_OUTPUT {
            let options = with(kernel, None, Some(7));
            jobs.push(job::<f64>(on, lengths, ConvMode::Full, options));
        }
    }
    for (kernel, span) in [(ConvKernel::Window, 640), (ConvKernel::Blocked, 2560)] {
        for lengths in [
            (1, 1),
            (31, 64),
            (span - 1, 3),
            (span, 1),
            (span + 62, 63),
            (3 * span + 1, 64),
        ] {
            for cap in [None, Some(1)] {
                for &mode in ConvMode::ALL {
                    jobs.push(job::<f32>(on, lengths, mode, with(kernel, None, cap)));
                    jobs.push(job::<f64>(on, lengths, mode, with(kernel, None, cap)));
                }
            }
        }
    }
    for lengths in [(3100, 511), (3100, 512), (3100, 513)] {
        let options = with(ConvKernel::Blocked, None, None);
        jobs.push(job::<f32>(on, lengths, ConvMode::Valid, options));
        jobs.push(job::<f64>(on, lengths, ConvMode::Valid, options));
    }
    jobs
}

fn with(kernel: ConvKernel, threads: Option<u32>, grid_cap: Option<u32>) -> ConvOptions {
    ConvOptions {
        kernel: Some(kernel),
        threads,
        grid_cap,
        ..ConvOptions::default()
    }
}

fn job<T: Precision + Draw>(
    on: &DeviceProperties,
    (samples, taps): Lengths,
    mode: ConvMode,
    options: ConvOptions,
) -> Job {
    extended::<T>(on, (samples, taps), mode, options, 0)
}

/// The full convolution and N zeros after it.
fn longer<T: Precision + Draw>(
    on: &DeviceProperties,
    lengths: Lengths,
    zeros: usize,
    options: ConvOptions,
) -> Job {
    extended::<T>(on, lengths, ConvMode::Full, options, zeros)
}

fn extended<T: Precision + Draw>(
    on: &DeviceProperties,
    (samples, taps): Lengths,
    mode: ConvMode,
    options: ConvOptions,
    zeros: usize,
) -> Job {
    let case = format!("{samples} samples, {taps} taps, {mode}, {zeros} zeros, {options:?}");
    let planned = plan::<T>(samples, taps, mode, &options, on);
    let planned = planned.unwrap_or_else(|error| panic!("{case}: {error}"));
    let (signal, taps) = (vector::<T>(11, samples), vector::<T>(12, taps));
    let mut expected = oracle::convolve::<T>(signal.view(), taps.view(), mode);
    for values in [&mut expected.values, &mut expected.tolerance] {
        let longer = values
            .iter()
            .copied()
            .chain(std::iter::repeat_n(0.0, zeros));
        *values = longer.collect();
    }
    let output_len = planned.output_len + zeros;
    let (long, short) = if planned.swapped {
        (taps, signal)
    } else {
        (signal, taps)
    };
    let job = Job::new(case, planned.launch, output_len, within::<T, _>(expected));
    let job = match planned.kernel {
        ConvKernel::Tiled | ConvKernel::BlockPerOutput => job.shared::<T>(),
        _ => job,
    };
    let job = job
        .slice(long.as_slice().unwrap_or_default())
        .slice(short.as_slice().unwrap_or_default());
    match planned.kernel {
        ConvKernel::BlockPerOutput => job.out_matrix([1, output_len]),
        ConvKernel::BlockPerOutputRaw => job.output(),
        _ => job.out(output_len).value(planned.offset),
    }
}
