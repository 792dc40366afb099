//! The MATLAB document's two-tone filter and the Numba document's convolution.

use std::time::{Duration, Instant};

use blockwise::{Device, DeviceKind};
use blockwise_ops::compare;
use blockwise_ops::conv1d::{self, CONV, convolve_buffers};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvMode, Execution, Options, Variant};
use ndarray::Array1;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::row::{Row, time};
use super::speed::Unit;
use super::timed::timed;
use super::{DemoError, Outcome, TwoTones, UNWRITTEN};

/// Sample rate of the MATLAB document, in Hz.
const SAMPLE_RATE: f64 = 16_000.0;
const SAMPLES: usize = 10_000;
/// Its two tones, in Hz, and each one's gain after a mean over ten samples, to five decimals.
const TONES: [(f64, f64); 2] = [(50.0, 0.99841), (7_000.0, 0.09420)];
const TAPS: usize = 10;

pub(super) fn run(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    two_tones(device, outcome)?;
    random_signals(device, outcome)
}

/// The mean over ten samples of a sum of two sines, by each kernel; the gain of each tone is
/// measured in the output of each safe one.
fn two_tones(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let tone = |frequency: f64, i: usize| {
        (std::f64::consts::TAU * frequency * i as f64 / SAMPLE_RATE).sin()
    };
    let signal = Array1::from_shape_fn(SAMPLES, |i| {
        TONES
            .iter()
            .map(|&(frequency, _)| tone(frequency, i + 1))
            .sum::<f64>()
    });
    let taps = Array1::from_elem(TAPS, 1.0 / TAPS as f64);
    let size = format!("{SAMPLES} * {TAPS} taps");
    let raw = [&conv1d::BLOCK_PER_OUTPUT_RAW, &conv1d::TILED_RAW];
    for kernel in [
        &conv1d::BLOCK_PER_OUTPUT,
        &conv1d::BLOCK_PER_OUTPUT_RAW,
        &conv1d::TILED,
        &conv1d::TILED_RAW,
        &conv1d::DIRECT,
    ] {
        let mode = ConvMode::Full;
        let (filtered, times) = convolve(device, &signal, &taps, mode, kernel)?;
        let oracle = oracle::convolve(signal.view(), taps.view(), ConvMode::Full);
        let row = Row::compared(
            "two tones, full",
            &size,
            device,
            &times.execution,
            &compare::with_oracle(filtered.view(), &oracle)?,
        );
        let gains = TONES.map(|(frequency, documented)| {
            let gain = amplitude(&filtered, frequency);
            // The document gives five decimals.
            row.number(format!("gain at {frequency} Hz"), gain, documented, 0.5e-5)
        });
        outcome.push(measured(row, device, &signal, &taps, mode, kernel)?);
        // The raw kernels compute the same sums as the safe ones.
        if !raw.contains(&kernel) {
            gains.into_iter().for_each(|gain| outcome.push(gain));
        }
        if kernel == &conv1d::BLOCK_PER_OUTPUT {
            outcome.two_tones = Some(TwoTones {
                sample_rate: SAMPLE_RATE,
                before: signal.to_vec(),
                after: filtered.to_vec(),
            });
        }
    }
    Ok(())
}

/// The amplitude of a tone in the steady part of the output, by projection on sine and cosine over
/// whole periods of both tones (320 samples hold one period of 50 Hz and 140 of 7 kHz, so the other
/// tone cancels).
fn amplitude(output: &Array1<f64>, frequency: f64) -> f64 {
    let (first, count) = (320, 9_600);
    let (mut cosine, mut sine) = (0.0, 0.0);
    for i in first..first + count {
        let phase = std::f64::consts::TAU * frequency * i as f64 / SAMPLE_RATE;
        cosine += output[i] * phase.cos();
        sine += output[i] * phase.sin();
    }
    2.0 / count as f64 * cosine.hypot(sine)
}

/// The Numba document's sizes, those that its early return got wrong, and one larger.
fn random_signals(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let mut random = StdRng::seed_from_u64(2);
    for (samples, taps) in [(1_000, 9), (300, 65), (100_003, 31)] {
        let signal = Array1::from_shape_fn(samples, |_| random.random_range(-1.0_f32..1.0));
        let taps = Array1::from_shape_fn(taps, |_| random.random_range(-1.0_f32..1.0));
        let oracle = oracle::convolve(signal.view(), taps.view(), ConvMode::Same);
        for kernel in [&conv1d::TILED, &conv1d::TILED_RAW, &conv1d::DIRECT] {
            let mode = ConvMode::Same;
            let (output, times) = convolve(device, &signal, &taps, mode, kernel)?;
            let comparison = compare::with_oracle(output.view(), &oracle)?;
            let row = Row::compared(
                "random, same",
                format!("{samples} * {} taps", taps.len()),
                device,
                &times.execution,
                &comparison,
            );
            outcome.push(measured(row, device, &signal, &taps, mode, kernel)?);
            if samples == 1_000 {
                outcome
                    .remarks
                    .push(profile(device, &signal, &taps, kernel, &times)?);
            }
        }
    }
    let properties = device.properties();
    let limit = properties.shared_bytes_per_block as usize / size_of::<f32>()
        - (kernels::conv1d::THREADS as usize - 1);
    let opt_in = properties.shared_bytes_opt_in as usize / size_of::<f32>()
        - (kernels::conv1d::THREADS as usize - 1);
    let tiled = kernels::conv1d::tiled::conv1d_tiled::<f32>::entry().name;
    outcome.remarks.push(format!("{tiled} takes at most {limit} taps in this device's plain shared memory, {opt_in} with opt-in"));
    Ok(())
}

/// Times of the parts of one convolution.
struct Times {
    to_device: Duration,
    execution: Execution,
    to_host: Duration,
}

/// Uploads, convolves, downloads.
fn convolve<T: Precision>(
    device: &Device,
    signal: &Array1<T>,
    taps: &Array1<T>,
    mode: ConvMode,
    kernel: &'static Variant,
) -> Result<(Array1<T>, Times), DemoError> {
    let options = Options::of(kernel);
    let start = Instant::now();
    let signal_buffer = device.upload(signal.as_slice().unwrap_or(&[]))?;
    let taps_buffer = device.upload(taps.as_slice().unwrap_or(&[]))?;
    let to_device = start.elapsed();
    let length = mode.outputs(signal.len(), taps.len())?.len;
    let mut output = device.filled(length, UNWRITTEN)?;
    let execution = convolve_buffers(
        device,
        &signal_buffer,
        &taps_buffer,
        &mut output,
        mode,
        &options,
    )?;
    let start = Instant::now();
    let result = output.to_vec()?;
    let to_host = start.elapsed();
    Ok((
        Array1::from_vec(result),
        Times {
            to_device,
            execution,
            to_host,
        },
    ))
}

/// The row with its speed, on a GPU.
fn measured<T: Precision>(
    row: Row,
    device: &Device,
    signal: &Array1<T>,
    taps: &Array1<T>,
    mode: ConvMode,
    kernel: &'static Variant,
) -> Result<Row, DemoError> {
    let options = Options::of(kernel);
    let signal = device.upload(signal.as_slice().unwrap_or(&[]))?;
    let taps = device.upload(taps.as_slice().unwrap_or(&[]))?;
    let mut output = device.zeros::<T>(mode.outputs(signal.len(), taps.len())?.len)?;
    let work = (CONV.work)(&conv1d::problem(T::TYPE, [signal.len(), taps.len()], mode)?);
    let again =
        || conv1d::enqueue(device, None, &signal, &taps, &mut output, mode, &options).map(drop);
    timed(row, device, work, Unit::Bytes, again)
}

/// Mean, deviation and median of the kernel's time over many runs, and the times of the copies.
fn profile(
    device: &Device,
    signal: &Array1<f32>,
    taps: &Array1<f32>,
    kernel: &'static Variant,
    one: &Times,
) -> Result<String, DemoError> {
    let runs = if device.properties().kind == DeviceKind::Cuda {
        100
    } else {
        20
    };
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        seconds.push(
            convolve(device, signal, taps, ConvMode::Same, kernel)?
                .1
                .execution
                .elapsed
                .as_secs_f64(),
        );
    }
    seconds.sort_by(f64::total_cmp);
    let mean = seconds.iter().sum::<f64>() / runs as f64;
    let deviation = (seconds.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
    let show = |seconds: f64| time(Duration::from_secs_f64(seconds));
    Ok(format!(
        "{}, {} * {} taps, {runs} runs: kernel {} +- {}, median {}; copies {} there, {} back",
        one.execution.plan.kernel,
        signal.len(),
        taps.len(),
        show(mean),
        show(deviation),
        show(seconds[runs / 2]),
        time(one.to_device),
        time(one.to_host)
    ))
}
