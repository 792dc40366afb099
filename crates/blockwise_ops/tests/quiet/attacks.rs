//! Signals made to slip past what a block looks at: at the edges of runs, windows and pairs, of
//! neighbourhoods, of the lengths at which a kernel or its marks change.

use kernels::conv1d::fft::shape::{discarded, shift};

use super::*;

/// Checks a signal that looks random with these magnitudes.
#[track_caller]
fn attack<T: Precision>(
    device: &Device,
    kernel: &'static Variant,
    name: String,
    [samples, len]: [usize; 2],
    mode: ConvMode,
    magnitude: impl Fn(usize) -> f64,
) {
    let noise = noise(41, samples);
    let signal = (0..samples).map(|i| T::nearest(noise[i] * magnitude(i)));
    let [taps, one] = taps::<T>(len, 1.0);
    let taps = if samples % 3 == 0 { one } else { taps };
    check(device, Some(kernel), &(name, signal.collect()), &taps, mode);
}

/// Outputs of a window of the full convolution.
fn kept(points: usize, taps: usize) -> usize {
    points - discarded(taps, shift(0))
}

/// Where a run, a window and a pair of windows begin and end.
#[test]
fn one_loud_sample_at_every_edge() {
    let (len, kernel) = (300, &conv1d::FFT2048);
    let kept = kept(2048, len);
    for device in &common::devices() {
        for at in [
            0,
            31,
            32,
            kept - 1,
            kept,
            kept + 33,
            2 * kept - len,
            2 * kept,
            4999,
        ] {
            let name = format!("one loud sample at {at}");
            let loud = |i: usize| if i == at { 1e6 } else { 1e-6 };
            attack::<f32>(device, kernel, name, [5000, len], ConvMode::Full, loud);
        }
    }
}

/// One window of a pair, or one pair of two, is loud.
#[test]
fn every_other_window_is_loud() {
    let (len, kernel) = (250, &conv1d::FFT4096);
    let kept = kept(4096, len);
    let loud = |i: usize, each: usize| {
        if (i / each).is_multiple_of(2) {
            3e-7
        } else {
            2e5
        }
    };
    for device in &common::devices() {
        for (each, first) in [(kept, 0), (kept, 70), (2 * kept, 0)] {
            let name = format!("loud every other {each} from {first}");
            let loud = |i| loud(i + first, each);
            attack::<f32>(device, kernel, name, [3 * kept, len], ConvMode::Full, loud);
        }
        let name = "loud every other window".to_owned();
        let loud = |i| 1e-100 * loud(i, kept);
        attack::<f64>(device, kernel, name, [2 * kept, len], ConvMode::Same, loud);
    }
}

/// Only the runs that a warp marks are loud, or only those that it does not.
#[test]
fn loud_where_the_marks_are_or_are_not() {
    let (len, kernel) = (130, &conv1d::FFT2048);
    for device in &common::devices() {
        for run in 0..4 {
            let name = format!("loud in one place of run {run} of 4");
            let loud = |i: usize| if i % 128 == 32 * run + 17 { 1e6 } else { 1e-6 };
            attack::<f32>(device, kernel, name, [4400, len], ConvMode::Full, loud);
            let name = format!("silent but for run {run} of 4");
            let loud = |i: usize| if i % 512 / 32 == run { 1.0 } else { 0.0 };
            attack::<f32>(device, kernel, name, [4400, 65], ConvMode::Full, loud);
        }
    }
}

/// Only single runs of a window are loud, ever further apart: about as many taps as a block needs to
/// be taken as it is, and one fewer.
#[test]
fn loud_in_single_runs() {
    // Points, the distance between runs, and taps.
    let cases: [(&'static Variant, usize, usize, &[usize]); 5] = [
        (
            &conv1d::FFT2048,
            2048,
            128,
            &[64, 138, 139, 309, 310, 650, 651],
        ),
        (&conv1d::FFT4096, 4096, 256, &[96, 97, 267, 609, 1291]),
        (&conv1d::FFT8192, 8192, 512, &[181, 182, 523]),
        (&conv1d::FFT16384, 16_384, 1024, &[352, 353]),
        (&conv1d::FFT65536, 65_536, 1024, &[353]),
    ];
    let device = Device::emulator();
    for (kernel, points, apart, lengths) in cases {
        for &len in lengths {
            // The neighbourhood of an output that has no end of a window or signal nearby.
            let near = 3 * len - 2;
            let fits = |size: usize| (2 * size - 1) * apart + 31 <= near;
            let size = [8, 4, 2].into_iter().find(|&size| fits(size)).unwrap_or(1);
            let closer = if fits(1) { apart } else { apart / 2 };
            // Without outputs that have fewer samples, the first window begins with the signal.
            let kept = points - discarded(len, shift(len - 1));
            let is_loud = |i: usize| {
                [0, 1].into_iter().any(|window| {
                    let Some(place) = i.checked_sub(window * kept).filter(|&at| at < points) else {
                        return false;
                    };
                    let (run, place) = (place / closer, place % closer);
                    let of_group = if run / size % 2 == 0 { 0 } else { size - 1 };
                    run % size == of_group && place == (closer - 32) / 2 + run % 32
                })
            };
            let name = format!("loud in one run of {size} that are {closer} apart");
            let sizes = [kept + points, len];
            // As loud as each other.
            let noise = noise(41, sizes[0]);
            let loud = |i: usize| {
                if is_loud(i) {
                    1.0 / noise[i].abs()
                } else {
                    1e-6
                }
            };
            attack::<f32>(&device, kernel, name, sizes, ConvMode::Valid, loud);
        }
    }
}

/// The same where a signal begins or ends within a window: nothing but its first or last samples is
/// loud, or quiet.
#[test]
fn loud_or_quiet_at_the_ends_of_a_signal() {
    let device = Device::emulator();
    for (kernel, points) in [(&conv1d::FFT2048, 2048), (&conv1d::FFT8192, 8192)] {
        for len in [64, 95, 127, 159, 160, 415, 416, 927] {
            let kept = kept(points, len);
            for (samples, edge) in [
                (kept + 5, 1),
                (2 * kept - 40, 33),
                (3 * kept + 31, len - 1),
                (points, len + 32),
            ] {
                let inner = |i: usize| i >= edge && i + edge < samples;
                let name = format!("quiet but for {edge} at the ends");
                let loud = |i: usize| if inner(i) { 1e-6 } else { 1.0 };
                attack::<f32>(&device, kernel, name, [samples, len], ConvMode::Full, loud);
                let name = format!("loud but for {edge} at the ends");
                let loud = |i: usize| if inner(i) { 1.0 } else { 1e-6 };
                attack::<f32>(&device, kernel, name, [samples, len], ConvMode::Full, loud);
            }
        }
    }
}

/// Silences as long as a filter, its neighbourhood, and one sample more or less: outputs within are
/// exactly zero, and only those.
#[test]
fn silences_around_the_length_of_a_neighbourhood() {
    let len = 97;
    for device in &common::devices() {
        for (phase, silence) in [
            len,
            2 * len - 1,
            2 * len,
            3 * len - 3,
            3 * len - 2,
            3 * len + 63,
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("silences of {silence}");
            let each = silence + 3 + 7 * phase;
            let loud = |i: usize| {
                let silent = (i + 13 * phase) % each < silence;
                if silent {
                    0.0
                } else {
                    ten((i / each % 5) as f64 * 2.0 - 4.0)
                }
            };
            let kernel = &conv1d::FFT2048;
            attack::<f32>(device, kernel, name, [4001, len], ConvMode::Full, loud);
        }
    }
}

/// With so few taps that a passage holds one run that is voted on: each of them, in both windows of
/// a pair within the signal.
#[test]
fn quiet_around_a_single_run_that_is_voted_on() {
    let (len, device) = (80, Device::emulator());
    for window in [2, 3] {
        for place in 0..8 {
            let start = window * 1920 + 540 + 32 * place;
            let quiet = start..start + 3 * len + 6;
            let name = format!("quiet from {start}");
            let magnitude = |i: usize| if quiet.contains(&i) { 1e-6 } else { 1e6 };
            let (kernel, sizes) = (&conv1d::FFT2048, [11_713, len]);
            attack::<f32>(&device, kernel, name, sizes, ConvMode::Same, magnitude);
        }
    }
}

/// A step and bursts, with as many taps as where the choice or a block's marks change, and the most
/// of a kernel.
#[test]
fn filters_at_each_switch() {
    let lengths: [(&'static Variant, &[usize]); 4] = [
        (&conv1d::FFT2048, &[63, 64, 79, 80, 271, 272, 1505]),
        (&conv1d::FFT4096, &[143, 144, 3041]),
        (&conv1d::FFT8192, &[6113]),
        (&conv1d::FFT16384, &[12_257]),
    ];
    let device = Device::emulator();
    for (kernel, lengths) in lengths {
        for &len in lengths {
            let samples = len + 1500;
            let loud = |i: usize| {
                let step = if i < samples / 2 { 1e-5 } else { 1e4 };
                if i % 700 < 20 { step * 1e4 } else { step }
            };
            let mode = if len > 6000 {
                ConvMode::Valid
            } else {
                ConvMode::Same
            };
            attack::<f32>(
                &device,
                kernel,
                "bursts and a step".into(),
                [samples, len],
                mode,
                loud,
            );
        }
    }
    let loud = |i: usize| if i < 2000 { 1e-9 } else { 1e9 };
    let sizes = [4500, 3041];
    attack::<f64>(
        &device,
        &conv1d::FFT4096,
        "a step".into(),
        sizes,
        ConvMode::Valid,
        loud,
    );
}

/// The most taps of transforms through global memory: 393,185 of the longest.
#[test]
fn the_longest_filters() {
    let device = Device::emulator();
    for (kernel, len) in [(&conv1d::FFT65536, 49_121), (&conv1d::FFT524288, 393_185)] {
        let samples = len + 90;
        let loud = |i: usize| if i < samples - 60 { 1e-6 } else { 1e6 };
        attack::<f32>(
            &device,
            kernel,
            "a late step".into(),
            [samples, len],
            ConvMode::Valid,
            loud,
        );
    }
}

/// Sums of finite samples that overflow, and partial ones that do, as direct sums of the same order.
#[test]
fn sums_overflow_as_direct_ones_do() {
    let ones = Array1::from_elem(100, 1.0_f32);
    for device in &common::devices() {
        for (each, name) in [(1, "alternating"), (3, "in threes"), (200, "in long runs")] {
            let sign = |i: usize| {
                if (i / each).is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                }
            };
            let loud = |i: usize| if i % 2500 < 400 { 3e38 } else { 1e-3 };
            let signal = (0..4300).map(|i| (sign(i) * loud(i)) as f32);
            let signal = (format!("the largest samples {name}"), signal.collect());
            check(
                device,
                Some(&conv1d::FFT2048),
                &signal,
                &ones,
                ConvMode::Same,
            );
        }
    }
}

/// One infinity: its block's other outputs, and other blocks', keep their digits beside a step.
#[test]
fn an_infinity_and_nothing_but_subnormal_numbers_near_it() {
    for device in &common::devices() {
        for special in [f32::INFINITY, f32::NAN, f32::MAX] {
            let noise = noise(42, 6000);
            let loud = |i: usize| {
                if (i / 900).is_multiple_of(2) {
                    1e-40
                } else {
                    1e3
                }
            };
            let mut signal: Array1<f32> = (0..6000).map(|i| (noise[i] * loud(i)) as f32).collect();
            signal[2300] = special;
            let signal = (format!("{special} between subnormal numbers"), signal);
            let [taps, _] = taps::<f32>(129, 1.0);
            check(
                device,
                Some(&conv1d::FFT2048),
                &signal,
                &taps,
                ConvMode::Full,
            );
        }
    }
}

/// Passages of random lengths and magnitudes, some of them special, with taps that have a range too.
#[test]
fn random_passages() {
    let seeds = match std::env::var("BLOCKWISE_SEEDS") {
        Ok(seeds) => seeds.parse().expect("a number of seeds"),
        Err(_) => 12,
    };
    let device = Device::emulator();
    for seed in 0..seeds {
        random::<f32>(&device, seed, 38.0);
        if seed % 4 == 0 {
            random::<f64>(&device, seed, 307.0);
        }
    }
}

fn random<T: Precision>(device: &Device, seed: u64, range: f64) {
    let numbers = noise(1000 + seed, 400);
    let mut next = 0;
    let mut random = |below: usize| {
        next += 1;
        ((numbers[next % 400] + 1.0) / 2.0 * below as f64) as usize
    };
    let len = [65, 97, 128, 200, 273, 500, 1000][random(7)];
    let kernels = match range < 100.0 {
        true => [&conv1d::FFT2048, &conv1d::FFT4096, &conv1d::FFT8192],
        false => [&conv1d::FFT4096; 3],
    };
    let kernel = kernels[random(3)];
    let samples = len + random(9000);
    let mut magnitudes = Vec::new();
    while magnitudes.len() < samples {
        let lengths = [
            1,
            2,
            31,
            32,
            33,
            len - 1,
            len,
            len + 1,
            2 * len,
            3 * len - 2,
            900,
        ];
        let powers = [
            -range - 3.0,
            -range,
            -20.0,
            -6.0,
            -1.0,
            0.0,
            0.0,
            3.0,
            9.0,
            range - 4.0,
        ];
        let magnitude = match random(14) {
            0..3 => 0.0,
            3 if seed.is_multiple_of(3) => {
                [f64::INFINITY, f64::NAN, -f64::INFINITY, ten(range)][random(4)]
            }
            _ => ten(powers[random(10)]),
        };
        let length = if magnitude.is_finite() {
            lengths[random(11)]
        } else {
            1
        };
        magnitudes.extend(std::iter::repeat_n(magnitude, length));
    }
    let of_samples = noise(2000 + seed, samples);
    let signal = (0..samples).map(|i| T::nearest(of_samples[i] * magnitudes[i]));
    let decays = [0.0, 0.01, 0.1, 1.0][random(4)] / len as f64 * range.min(60.0);
    let of_taps = noise(3000 + seed, len);
    let taps = (0..len).map(|k| T::nearest(of_taps[k] * ten(-decays * k as f64)));
    let mode = ConvMode::ALL[random(ConvMode::ALL.len())];
    let signal = (format!("seed {seed}"), signal.collect());
    check(device, Some(kernel), &signal, &taps.collect(), mode);
}
