//! Quiet passages beside loud ones: each output of a convolution by transforms is as exact as the
//! samples near it allow, and what is not finite comes out as of direct sums.

mod attacks;
#[path = "../common/mod.rs"]
mod common;

use blockwise::Device;
use blockwise_ops::conv1d::{self, CONV};
use blockwise_ops::operation::choose;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvMode, Options, Variant, convolve};
use ndarray::Array1;

/// Numbers between −1 and 1 that look random.
fn noise(seed: u64, len: usize) -> Vec<f64> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Signals by their samples' magnitudes: at an index, of a number of samples, with taps, by powers
/// of ten of which the type has `range` on each side of 1.
type Magnitude = fn(usize, usize, usize, f64) -> f64;

fn ten(power: f64) -> f64 {
    10_f64.powf(power)
}

const PATTERNS: [(&str, Magnitude); 16] = [
    ("even", |_, _, _, _| 1.0),
    ("a step up", |i, n, _, _| if i < n / 2 { 1e-6 } else { 1e6 }),
    ("a step down", |i, n, _, range| {
        ten(if i < n / 3 { range / 2.0 } else { -range / 2.0 })
    }),
    (
        "a small step",
        |i, n, _, _| if i < n / 2 { 0.06 } else { 1.0 },
    ),
    ("a spike", |i, n, _, _| if i == n / 2 { 1e6 } else { 1e-6 }),
    ("spikes in silence", |i, _, taps, _| {
        if i % (4 * taps + 77) == 5 { 1e5 } else { 0.0 }
    }),
    ("bursts shorter than the filter", |i, _, taps, _| {
        let burst = i / (3 * taps + 31);
        if i % (3 * taps + 31) < taps / 2 {
            ten((burst as f64 * 37.0) % 19.0 - 9.0)
        } else {
            0.0
        }
    }),
    ("bursts in quiet", |i, _, taps, _| {
        if i % (2 * taps + 100) < 40 { 1e4 } else { 1e-4 }
    }),
    ("a decay over 300 dB", |i, n, _, _| {
        ten(7.0 - 15.0 * i as f64 / n as f64)
    }),
    ("a decay to nothing", |i, n, _, range| {
        ten(2.0 - 1.4 * range * i as f64 / n as f64)
    }),
    ("steps everywhere", |i, _, taps, _| {
        ten(((i / (taps / 3 + 50)) as f64 * 7.3) % 14.0 - 7.0)
    }),
    ("subnormal", |_, _, _, range| ten(-range - 2.0)),
    ("subnormal beside loud", |i, n, _, range| {
        if i < n / 2 { ten(-range - 2.0) } else { 1e3 }
    }),
    ("almost too loud", |_, _, _, range| ten(range - 7.0)),
    ("too loud in places", |i, _, _, range| {
        if i % 4000 == 1234 {
            3.0 * ten(range)
        } else {
            1.0
        }
    }),
    ("silence", |_, _, _, _| 0.0),
];

/// A signal with its name.
fn signals<T: Precision>(samples: usize, taps: usize) -> Vec<(String, Array1<T>)> {
    let range = if T::UNIT_ROUNDOFF > 1e-10 {
        38.0
    } else {
        307.0
    };
    let noise = noise(31, samples);
    let at = |magnitude: Magnitude| {
        let sample = |i: usize| T::nearest(noise[i] * magnitude(i, samples, taps, range));
        Array1::from_shape_fn(samples, sample)
    };
    let mut signals: Vec<_> = PATTERNS
        .iter()
        .map(|&(name, magnitude)| (name.to_owned(), at(magnitude)))
        .collect();
    let tone = |i: usize| T::nearest((i as f64 / 12_345.6 * std::f64::consts::TAU).sin());
    signals.push(("a slow tone".into(), Array1::from_shape_fn(samples, tone)));
    // Where blocks begin and end, and within them.
    for (name, special) in [
        ("NaN", f64::NAN),
        ("infinity", f64::INFINITY),
        ("minus infinity", f64::NEG_INFINITY),
    ] {
        let mut signal = at(PATTERNS[1].1);
        for i in [0, 31, 32, samples / 2 - 1, samples / 2 + 3, samples - 1] {
            if i < samples / 3 || i % 2 == 1 {
                signal[i] = T::nearest(special);
            }
        }
        signals.push((name.into(), signal));
    }
    let mut both = at(PATTERNS[0].1);
    (both[samples / 2], both[samples / 2 + 20]) =
        (T::nearest(f64::INFINITY), T::nearest(f64::NEG_INFINITY));
    signals.push(("both infinities".into(), both));
    signals
}

/// Compares each output with the exact one, and those that are not finite with direct sums.
#[track_caller]
fn check<T: Precision>(
    device: &Device,
    kernel: Option<&'static Variant>,
    (name, signal): &(String, Array1<T>),
    taps: &Array1<T>,
    mode: ConvMode,
) {
    let (n, m) = (signal.len(), taps.len());
    let case = format!("{name}, {n} samples, {m} taps, {mode}, {kernel:?}");
    let run = |kernel| {
        let options = Options {
            kernel,
            ..Options::default()
        };
        convolve(device, signal.view(), taps.view(), mode, &options)
            .unwrap_or_else(|error| panic!("{case}: {error}"))
    };
    let chosen = kernel.unwrap_or_else(|| {
        let problem = conv1d::problem(T::TYPE, [n, m], mode).expect("operands");
        let once = Options {
            once: true,
            ..Options::default()
        };
        let chosen = choose(&CONV, &problem, &once, device.properties());
        chosen.expect("a kernel").variant
    });
    let points = conv1d::points::<T>(chosen).expect("a kernel by transforms");
    let outputs = mode.outputs(n, m).expect("operands");
    let outputs = outputs.offset..outputs.offset + outputs.len;
    let allowed = oracle::transform_error(signal.view(), taps.view(), outputs, points);
    let expected = oracle::convolve::<T>(signal.view(), taps.view(), mode).values;
    let result = run(kernel);
    let is_finite = |values: &Array1<T>| values.iter().all(|&value| value.into().is_finite());
    let direct = (!is_finite(signal) || !is_finite(&result)).then(|| run(Some(&conv1d::DIRECT)));
    let mut worst = (0.0, 0);
    for (i, (&got, &wanted)) in result.iter().zip(&expected).enumerate() {
        let got: f64 = got.into();
        if let Some(direct) = &direct {
            let direct: f64 = direct[i].into();
            if !direct.is_finite() {
                let same = got == direct || got.is_nan() && direct.is_nan();
                assert!(same, "{case}: {got} at {i}, {direct} of direct sums");
                continue;
            }
        }
        let error = (got - wanted).abs();
        assert!(
            error <= allowed[i],
            "{case}: {got} at {i}, not {wanted}: {} times the bound",
            error / allowed[i]
        );
        if error > 0.0 && error / allowed[i] > worst.0 {
            worst = (error / allowed[i], i);
        }
    }
    println!("{case}: {:.3} of the bound at {}", worst.0, worst.1);
}

/// Taps that look random, or one that stands out.
fn taps<T: Precision>(len: usize, scale: f64) -> [Array1<T>; 2] {
    let all = noise(32, len)
        .into_iter()
        .map(|tap| T::nearest(scale * tap));
    let mut one = Array1::from_elem(len, T::nearest(0.0));
    one[len / 2] = T::nearest(1.37 * scale);
    [all.collect(), one]
}

/// Each signal that is `taken` by its number, with one of the modes and of the taps.
#[track_caller]
fn check_all<T: Precision>(
    kernel: &'static Variant,
    [samples, len]: [usize; 2],
    taken: impl Fn(usize) -> bool,
) {
    for device in &common::devices() {
        let signals = signals::<T>(samples, len);
        for (i, signal) in signals.iter().enumerate().filter(|&(i, _)| taken(i)) {
            let taps = taps::<T>(len, 1.0);
            let mode = ConvMode::ALL[(i + len) % ConvMode::ALL.len()];
            check(
                device,
                Some(kernel),
                signal,
                &taps[usize::from(i % 4 == 1)],
                mode,
            );
        }
    }
}

#[test]
fn every_signal() {
    check_all::<f32>(&conv1d::FFT2048, [4300, 300], |_| true);
}

#[test]
fn every_signal_of_f64() {
    check_all::<f64>(&conv1d::FFT4096, [4500, 1000], |_| true);
}

/// Below the taps of a run, of a block as it is, and just above.
#[test]
fn few_taps() {
    for len in [1, 31, 33, 64, 65] {
        check_all::<f32>(&conv1d::FFT2048, [4100, len], |i| (i + len) % 4 == 1);
    }
}

#[test]
fn every_shape() {
    let taken = |i| [1, 4, 8, 17].contains(&i);
    check_all::<f32>(&conv1d::FFT4096, [8300, 127], taken);
    check_all::<f32>(&conv1d::FFT8192, [9000, 1023], taken);
    check_all::<f32>(&conv1d::FFT16384, [17_000, 2047], |i| i == 1 || i == 17);
}

#[test]
fn long_transforms() {
    let taken = |i| [1, 6, 17].contains(&i);
    check_all::<f32>(&conv1d::FFT65536, [70_000, 250], taken);
    check_all::<f32>(&conv1d::FFT131072, [9000, 300], |i| i == 1);
    check_all::<f64>(&conv1d::FFT131072, [9000, 100], |i| i == 3 || i == 18);
    check_all::<f32>(&conv1d::FFT262144, [9000, 500], |i| i == 4);
    check_all::<f32>(&conv1d::FFT524288, [9000, 500], |i| i == 1);
}

/// Several pairs of windows, in one batch and in two, of which one has a range.
#[test]
fn one_pair_of_many() {
    let mut signal = noise(31, 210_000);
    signal[140_000..]
        .iter_mut()
        .for_each(|sample| *sample *= 1e-5);
    let signal: Array1<f32> = signal.iter().map(|&sample| sample as f32).collect();
    let [taps, _] = taps::<f32>(200, 1.0);
    for device in &common::devices() {
        let name = "a step".to_owned();
        let signal = (name, signal.clone());
        check(
            device,
            Some(&conv1d::FFT65536),
            &signal,
            &taps,
            ConvMode::Same,
        );
    }
}

/// The example, on the kernel that is the default for many outputs.
#[test]
fn the_quiet_part_of_a_step_keeps_its_digits() {
    let (signal, taps) = (noise(1, 6000), noise(2, 300));
    let scale = |i: usize| if i < 3000 { 1e-6 } else { 1e6 };
    let signal: Array1<f32> = (0..6000).map(|i| (signal[i] * scale(i)) as f32).collect();
    let taps: Array1<f32> = taps.iter().map(|&tap| tap as f32).collect();
    let options = Options::of(&conv1d::FFT2048);
    for device in &common::devices() {
        let result = convolve(device, signal.view(), taps.view(), ConvMode::Same, &options);
        let result = result.expect("a launch");
        let expected = oracle::convolve::<f32>(signal.view(), taps.view(), ConvMode::Same).values;
        let part = 0..2500;
        let error = part
            .clone()
            .map(|i| (f64::from(result[i]) - expected[i]).powi(2));
        let error = error.sum::<f64>().sqrt();
        let norm = part.map(|i| expected[i].powi(2)).sum::<f64>().sqrt();
        assert!(error < 1e-6 * norm, "{error} of {norm}");
    }
}

/// A filter far from 1 in both directions, and one with a range of its own.
#[test]
fn taps_of_any_size() {
    for device in &common::devices() {
        let signals = signals::<f32>(3500, 200);
        for power in [-30.0, -14.0, 25.0] {
            let [taps, _] = taps::<f32>(200, ten(power));
            for signal in [&signals[1], &signals[17]] {
                check(
                    device,
                    Some(&conv1d::FFT2048),
                    signal,
                    &taps,
                    ConvMode::Same,
                );
            }
        }
        let decay: Array1<f32> = noise(33, 200)
            .iter()
            .enumerate()
            .map(|(i, tap)| (tap * ten(-0.2 * i as f64)) as f32)
            .collect();
        let mut special = decay.clone();
        special[7] = f32::NAN;
        for taps in [&decay, &special] {
            for signal in &signals[..2] {
                check(device, Some(&conv1d::FFT2048), signal, taps, ConvMode::Full);
            }
        }
    }
}

#[test]
fn the_default_takes_them() {
    let device = Device::emulator();
    let (samples, len) = (1 << 16, 3000);
    let signals = signals::<f32>(samples, len);
    let [taps, _] = taps::<f32>(len, 0.01);
    check(&device, None, &signals[1], &taps, ConvMode::Same);
}
