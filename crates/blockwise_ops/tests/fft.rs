//! FFT convolutions: right at every length, within their error bound, and with the bits of the
//! direct kernel where inputs are not finite.

mod common;

use std::num::NonZeroU32;

use blockwise::{AnyView, Device, Type};
use blockwise_ops::conv1d::{self, CONV, is_fft, is_long};
use blockwise_ops::operation::{self, Call};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::pipeline::Convolver;
use blockwise_ops::{ConvMode, Float, LaunchError, Options, Variant, convolve};
use ndarray::Array1;

fn with(kernel: &'static Variant, grid_cap: Option<u32>) -> Options {
    Options {
        kernel: Some(kernel),
        grid_cap,
        ..Options::default()
    }
}

/// Pseudo-random numbers between −1 and 1.
fn noise<T: Precision>(seed: u64, len: usize) -> Array1<T> {
    let mut state = seed;
    Array1::from_shape_simple_fn(len, || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        T::nearest((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    })
}

/// The largest error in units of u · max|long| · Σ|short|, of the longer and the shorter operand.
#[track_caller]
fn error<T: Precision>(
    result: &Array1<T>,
    signal: &Array1<T>,
    taps: &Array1<T>,
    mode: ConvMode,
) -> f64 {
    let expected = oracle::convolve::<T>(signal.view(), taps.view(), mode);
    assert_eq!(result.len(), expected.values.len());
    let loudest = |of: &Array1<T>| of.iter().map(|&x| x.into().abs()).fold(0.0, f64::max);
    let (long, short) = if signal.len() < taps.len() {
        (taps, signal)
    } else {
        (signal, taps)
    };
    let unit = oracle::fft_error(loudest(long), short.view()) / 8.0;
    let errors = result.iter().zip(&expected.values).map(|(&got, &wanted)| {
        let got: f64 = got.into();
        assert!(got.is_finite(), "{got} for {wanted}");
        (got - wanted).abs()
    });
    errors.fold(0.0, f64::max) / unit
}

#[track_caller]
fn check<T: Precision>(
    device: &Device,
    [samples, taps]: [usize; 2],
    mode: ConvMode,
    options: Options,
) {
    let (signal, taps) = (noise::<T>(11, samples), noise::<T>(12, taps));
    let case = (T::NAME, samples, taps.len(), mode, options.kernel);
    let result = convolve(device, signal.view(), taps.view(), mode, &options);
    let result = result.unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let error = error(&result, &signal, &taps, mode);
    assert!(error < 4.0, "{case:?}: {error} units");
}

#[test]
fn every_length_and_mode() {
    for device in &common::devices() {
        for lengths in [
            [1, 1],
            [1, 5],
            [7, 3],
            [31, 64],
            [2003, 101],
            [101, 4099],
            [9001, 1021],
        ] {
            for &mode in ConvMode::ALL {
                check::<f32>(device, lengths, mode, with(&conv1d::FFT4096, None));
                check::<f64>(device, lengths, mode, with(&conv1d::FFT4096, None));
            }
        }
    }
}

#[test]
fn every_shape_with_many_windows_on_one_block_and_with_the_most_taps() {
    for device in &common::devices() {
        for kernel in CONV
            .variants
            .iter()
            .copied()
            .filter(|kernel| is_fft(kernel) && !is_long(kernel))
        {
            let most_taps = conv1d::most_taps::<f32>(kernel).expect("of f32");
            check::<f32>(device, [20_011, 255], ConvMode::Same, with(kernel, Some(1)));
            check::<f32>(
                device,
                [most_taps + 5000, most_taps],
                ConvMode::Valid,
                with(kernel, None),
            );
        }
    }
}

const SHORT: [&Variant; 4] = [
    &conv1d::FFT2048,
    &conv1d::FFT4096,
    &conv1d::FFT8192,
    &conv1d::FFT16384,
];

/// Few taps are the first points of the first butterflies alone, which a shape's stride of 256 or
/// 512 points decides, with the delay of each mode.
#[test]
fn taps_around_the_stride_of_the_first_pass() {
    for device in &common::devices() {
        for taps in [2, 224, 225, 255, 256, 257, 480, 511, 512, 513] {
            for &mode in ConvMode::ALL {
                for kernel in SHORT {
                    check::<f32>(device, [3001, taps], mode, with(kernel, None));
                }
                check::<f64>(device, [3001, taps], mode, with(&conv1d::FFT4096, None));
            }
        }
    }
}

const LONG: [&Variant; 4] = [
    &conv1d::FFT65536,
    &conv1d::FFT131072,
    &conv1d::FFT262144,
    &conv1d::FFT524288,
];

#[test]
fn long_transforms_of_every_length_and_mode() {
    for device in &common::devices() {
        for lengths in [[1, 1], [7, 3], [101, 4099], [2003, 101]] {
            for &mode in ConvMode::ALL {
                check::<f32>(device, lengths, mode, with(&conv1d::FFT65536, None));
            }
            let (mode, options) = (ConvMode::Full, with(&conv1d::FFT131072, None));
            check::<f64>(device, lengths, mode, options);
        }
    }
}

#[test]
fn long_transforms_with_the_most_taps() {
    for device in &common::devices() {
        for kernel in LONG {
            let taps = conv1d::most_taps::<f32>(kernel).expect("of f32");
            let options = with(kernel, None);
            check::<f32>(device, [taps + 60, taps], ConvMode::Valid, options);
        }
        let kernel = &conv1d::FFT131072;
        let taps = conv1d::most_taps::<f64>(kernel).expect("of f64");
        let options = with(kernel, None);
        check::<f64>(device, [taps + 60, taps], ConvMode::Valid, options);
    }
}

#[test]
fn batches_are_right_each() {
    // Two pairs of windows, the last pair with one window only: in one batch, and in two.
    for pairs in [None, NonZeroU32::new(1)] {
        for device in &common::devices() {
            let options = Options {
                count: pairs,
                ..with(&conv1d::FFT65536, Some(3))
            };
            check::<f32>(device, [150_007, 33], ConvMode::Same, options);
        }
    }
}

#[test]
fn outputs_of_a_long_transform_that_are_not_finite_are_those_of_direct() -> Result<(), LaunchError>
{
    let taps = noise::<f32>(14, 40);
    let mut signal = noise::<f32>(13, 150_000);
    (signal[4000], signal[4010]) = (f32::NAN, f32::INFINITY);
    let options = with(&conv1d::FFT65536, None);
    for device in &common::devices() {
        let run = |signal: &Array1<f32>, options: &Options| {
            convolve(device, signal.view(), taps.view(), ConvMode::Same, options)
        };
        let fft = run(&signal, &options)?;
        let direct = run(&signal, &with(&conv1d::DIRECT, None))?;
        let same = |i: usize| direct[i].to_bits() == fft[i].to_bits();
        // Samples 4000 and 4010 reach outputs 3981 to 4030: these have the bits of direct.
        assert!((3981..4030).all(same));
        assert!(!(3900..3981).chain(4030..4100).all(same));
        let finite = |of: &Array1<f32>| of.mapv(f32::is_finite);
        assert_eq!(finite(&fft), finite(&direct));
        signal[4000] = f32::MAX;
        signal[4010] = f32::MAX;
        let fft = run(&signal, &options)?;
        let direct = run(&signal, &with(&conv1d::DIRECT, None))?;
        assert_eq!(finite(&fft), finite(&direct));
    }
    Ok(())
}

#[test]
fn the_choice_takes_long_transforms_for_many_taps() -> Result<(), LaunchError> {
    fn kernel<T: Float>(samples: usize, taps: usize) -> Result<&'static Variant, LaunchError> {
        let problem = conv1d::problem(T::TYPE, [samples, taps], ConvMode::Same)?;
        let device = Device::emulator();
        let chosen = operation::choose(&CONV, &problem, &Options::default(), device.properties());
        Ok(chosen?.variant)
    }
    // As measured: docs/log/2026-11-23-choices.md.
    assert_eq!(kernel::<f32>(372_062, 5_524)?, &conv1d::FFT8192);
    assert_eq!(kernel::<f32>(125_840, 7_054)?, &conv1d::FFT65536);
    assert_eq!(kernel::<f32>(1 << 22, 65_535)?, &conv1d::FFT262144);
    assert_eq!(kernel::<f32>(1 << 20, 393_185)?, &conv1d::FFT524288);
    assert!(!is_fft(kernel::<f32>(1 << 20, 393_186)?));
    assert_eq!(kernel::<f64>(157_786, 1_974)?, &conv1d::FFT4096);
    assert_eq!(kernel::<f64>(231_053, 17_759)?, &conv1d::FFT131072);
    assert!(!is_fft(kernel::<f64>(1 << 18, 98_274)?));
    Ok(())
}

#[test]
fn outputs_that_are_not_finite_are_those_of_direct() -> Result<(), LaunchError> {
    let mut signal = noise::<f32>(13, 30_000);
    (signal[4000], signal[4010], signal[20_000]) = (f32::NAN, f32::INFINITY, f32::MAX);
    let taps = noise::<f32>(14, 100);
    let mut infinite = taps.clone();
    infinite[50] = f32::INFINITY;
    for device in &common::devices() {
        for kernel in [&conv1d::FFT2048, &conv1d::FFT4096] {
            for (taps, all) in [(&taps, false), (&infinite, true)] {
                let run = |kernel| {
                    let options = with(kernel, None);
                    convolve(device, signal.view(), taps.view(), ConvMode::Same, &options)
                };
                let (direct, fft) = (run(&conv1d::DIRECT)?, run(kernel)?);
                let same = |i: &usize| direct[*i].to_bits() == fft[*i].to_bits();
                let touched = (3951..4061).chain(19_951..20_051);
                assert!(touched.clone().all(|i| same(&i)), "{kernel}");
                assert!(
                    fft.iter()
                        .zip(&direct)
                        .all(|(a, b)| a.is_finite() == b.is_finite())
                );
                assert_eq!((0..30_000).all(|i| same(&i)), all, "{kernel}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_loud_window_costs_the_others_nothing() -> Result<(), LaunchError> {
    let mut signal = noise::<f32>(15, 40_000);
    signal
        .iter_mut()
        .take(10_000)
        .for_each(|sample| *sample *= 1e12);
    let taps = noise::<f32>(16, 301);
    for device in &common::devices() {
        let options = with(&conv1d::FFT4096, None);
        let result = convolve(device, signal.view(), taps.view(), ConvMode::Same, &options)?;
        // Two windows share a transform; a pair without loud samples begins at most two windows on.
        let part =
            |of: &Array1<f32>, from: usize, to: usize| Array1::from(of.to_vec()[from..to].to_vec());
        let (from, to) = (10_000 + 2 * 4096, 39_000);
        let heard = part(&signal, from - 150, to + 150);
        let quiet = error(&part(&result, from, to), &heard, &taps, ConvMode::Valid);
        assert!(quiet < 4.0, "{quiet} units");
    }
    Ok(())
}

#[test]
fn chunks_are_within_the_bound() -> Result<(), LaunchError> {
    let (signal, taps) = (noise::<f32>(17, 20_000), noise::<f32>(18, 129));
    for (device, kernel) in common::devices()
        .iter()
        .flat_map(|device| [&conv1d::FFT2048, &conv1d::FFT65536].map(|kernel| (device, kernel)))
    {
        let options = with(kernel, None);
        let mut outputs = Vec::new();
        let mut emit = |channels: &[&[f32]]| -> Result<(), LaunchError> {
            outputs.extend_from_slice(channels[0]);
            Ok(())
        };
        let mut left = signal.as_slice().unwrap_or_default();
        let taps_of = taps.as_slice().unwrap_or_default();
        let mut chunks = Convolver::new(
            device,
            signal.len(),
            &[taps_of],
            ConvMode::Same,
            &options,
            7001,
        )?;
        while chunks.next_len() > 0 {
            let fill = |channels: &mut [&mut [f32]]| {
                let (now, later) = left.split_at(channels[0].len());
                channels[0].copy_from_slice(now);
                left = later;
                Ok(())
            };
            chunks.push(fill, &mut emit)?;
        }
        chunks.finish(&mut emit)?;
        let error = error(&Array1::from(outputs), &signal, &taps, ConvMode::Same);
        assert!(error < 4.0, "{error} units");
    }
    Ok(())
}

#[test]
fn what_cannot_be_done_is_refused() -> Result<(), LaunchError> {
    for device in &common::devices() {
        let options = with(&conv1d::FFT2048, None);
        let prepared = |ty, lengths| {
            let problem = conv1d::problem(ty, lengths, ConvMode::Same)?;
            Call::new(device, &CONV, options).prepare(&problem, true)
        };
        assert!(matches!(
            prepared(Type::F64, [5000, 100]).err(),
            Some(LaunchError::UnsupportedType { .. })
        ));
        assert!(matches!(
            prepared(Type::F32, [5000, 1506]).err(),
            Some(LaunchError::TooManyTaps { limit: 1505, .. })
        ));
        let signal = device.upload(&[1.0_f32; 10])?;
        let taps = device.upload(&[1.0_f32; 3])?;
        let mut output = device.zeros(10)?;
        let (mode, from) = (ConvMode::Same, &signal);
        let refused = conv1d::enqueue(device, None, from, &taps, &mut output, mode, &options);
        assert!(matches!(
            refused,
            Err(LaunchError::NeedsMemory { kernel: "fft2048" })
        ));
        let problem = conv1d::problem(Type::F32, [10, 3], mode)?;
        let short = device.upload(&[1.0_f32; 9])?;
        let inputs = [short.as_view(), taps.as_view()].map(AnyView::from);
        let mut call = Call::new(device, &CONV, options);
        let refused = call.enqueue(None, &problem, &inputs, output.as_view_mut().into());
        assert!(matches!(refused, Err(LaunchError::BufferLength { .. })));
    }
    Ok(())
}

#[test]
fn many_taps_go_by_transforms_and_few_do_not() -> Result<(), LaunchError> {
    let (signal, options) = (noise::<f32>(19, 1 << 16), Options::default());
    for (taps, by_transforms) in [(63, false), (3000, true)] {
        let taps = noise::<f32>(20, taps);
        let (device, mode) = (Device::emulator(), ConvMode::Same);
        let problem = conv1d::problem(Type::F32, [signal.len(), taps.len()], mode)?;
        let once = Options {
            once: true,
            ..options
        };
        let chosen = operation::choose(&CONV, &problem, &once, device.properties())?.variant;
        assert_eq!(is_fft(chosen), by_transforms, "{chosen}");
        let run = |kernel| {
            let options = Options { kernel, ..options };
            convolve(&device, signal.view(), taps.view(), mode, &options)
        };
        assert_eq!(run(None)?, run(Some(chosen))?, "{chosen}");
    }
    Ok(())
}

/// What was prepared allocates nothing, so a graph can record it.
#[test]
fn a_prepared_call_is_recorded_in_a_graph() -> Result<(), LaunchError> {
    let (signal, taps) = (noise::<f32>(21, 5000), noise::<f32>(22, 200));
    let mode = ConvMode::Same;
    for device in &common::devices() {
        let problem = conv1d::problem(Type::F32, [5000, 200], mode)?;
        let options = Options::of(&conv1d::FFT2048);
        let mut call = Call::new(device, &CONV, options);
        assert_eq!(call.prepare(&problem, true)?, &conv1d::FFT2048);
        let [x, h] = [&signal, &taps].map(|of| device.upload(of.as_slice().unwrap_or_default()));
        let (x, h, mut y) = (x?, h?, device.zeros::<f32>(5000)?);
        let graph = device.graph(|stream| {
            let inputs = [x.as_view(), h.as_view()].map(AnyView::from);
            let output = y.as_view_mut().into();
            call.enqueue(Some(stream), &problem, &inputs, output)
                .map(drop)
        })?;
        graph.launch()?;
        let whole = convolve(device, signal.view(), taps.view(), mode, &options)?;
        assert_eq!(y.to_vec()?, whole.to_vec());
    }
    Ok(())
}
