//! Convolution: every kernel, mode and type over lengths, blocks and grids.

use blockwise::{Device, Type};
use blockwise_ops::conv1d::{self, CONV};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvMode, Options, Variant, convolve};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, vector};
use blockwise_tests::devices::devices;
use ndarray::{Array1, array, s};
use proptest::prelude::*;

/// The kernels that take any block.
const OF_ANY_BLOCK: [&Variant; 3] = [&conv1d::TILED, &conv1d::TILED_RAW, &conv1d::DIRECT];

/// The kernels with one block per output.
const A_BLOCK_EACH: [&Variant; 2] = [&conv1d::BLOCK_PER_OUTPUT, &conv1d::BLOCK_PER_OUTPUT_RAW];

/// The lengths of signals and taps: around the tile of 256, primes, and more taps than samples.
const LENGTHS: [(usize, usize); 15] = [
    (1, 1),
    (1, 5),
    (2, 2),
    (7, 3),
    (9, 10),
    (31, 64),
    (255, 1),
    (256, 2),
    (257, 3),
    (509, 31),
    (255, 256),
    (256, 257),
    (300, 65),
    (1000, 9),
    (2003, 101),
];

#[track_caller]
pub(super) fn check<T: Precision + Draw>(
    device: &Device,
    (signal, taps): (usize, usize),
    mode: ConvMode,
    options: Options,
) {
    let (signal, taps) = (vector::<T>(11, signal), vector::<T>(12, taps));
    check_values(device, &signal, &taps, mode, options);
}

#[track_caller]
fn check_values<T: Precision>(
    device: &Device,
    signal: &Array1<T>,
    taps: &Array1<T>,
    mode: ConvMode,
    options: Options,
) {
    let case = (T::NAME, signal.len(), taps.len(), mode, options);
    let result = convolve(device, signal.view(), taps.view(), mode, &options)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let expected = oracle::convolve::<T>(signal.view(), taps.view(), mode);
    check::close(device, case, &result, &expected);
}

pub(super) fn with(
    kernel: &'static Variant,
    threads: Option<u32>,
    grid_cap: Option<u32>,
) -> Options {
    Options {
        kernel: Some(kernel),
        threads,
        grid_cap,
        ..Options::default()
    }
}

#[test]
fn every_length_and_mode() {
    for device in devices() {
        for lengths in LENGTHS {
            for &mode in ConvMode::ALL {
                for kernel in OF_ANY_BLOCK {
                    check::<f32>(device, lengths, mode, with(kernel, None, None));
                    check::<f64>(device, lengths, mode, with(kernel, None, None));
                }
            }
        }
    }
}

#[test]
fn any_block_and_a_grid_that_must_stride() {
    for device in devices() {
        for threads in [1, 2, 31, 32, 33, 100, 255, 1000, 1024] {
            for grid_cap in [None, Some(1), Some(3)] {
                for kernel in OF_ANY_BLOCK {
                    let options = with(kernel, Some(threads), grid_cap);
                    check::<f32>(device, (701, 18), ConvMode::Same, options);
                    check::<f64>(device, (64, 127), ConvMode::Valid, options);
                }
            }
        }
    }
}

/// Outputs of a tile of the kernels in registers, of a warp and of a block.
const SPANS: [usize; 2] = [640, 2560];

#[test]
fn in_registers_every_number_of_taps_up_to_two_steps_and_more() {
    for device in devices() {
        for taps in (1..=41).chain([59, 60, 61, 63, 64]) {
            for (kernel, span) in [&conv1d::WINDOW, &conv1d::BLOCKED].into_iter().zip(SPANS) {
                let options = with(kernel, None, None);
                check::<f32>(device, (span + 150, taps), ConvMode::Same, options);
                check::<f64>(device, (span / 2 + 151, taps), ConvMode::Full, options);
            }
        }
    }
}

#[test]
fn in_registers_every_length_and_mode_and_a_grid_that_must_stride() {
    for device in devices() {
        for (kernel, span) in [&conv1d::WINDOW, &conv1d::BLOCKED].into_iter().zip(SPANS) {
            let tiles = [span - 1, span, span + 1, 2 * span + 63, 5 * span + 77];
            for samples in LENGTHS.map(|(samples, _)| samples).into_iter().chain(tiles) {
                for &mode in ConvMode::ALL {
                    for grid_cap in [None, Some(1), Some(2)] {
                        let options = with(kernel, None, grid_cap);
                        check::<f32>(device, (samples, 31), mode, options);
                        check::<f64>(device, (samples, 10), mode, options);
                    }
                }
            }
        }
    }
}

#[test]
fn blocked_takes_any_number_of_taps() {
    for device in devices() {
        for taps in [65, 511, 512, 513, 1024, 1030] {
            let options = with(&conv1d::BLOCKED, None, None);
            check::<f32>(device, (4200, taps), ConvMode::Same, options);
            check::<f64>(device, (2900, taps), ConvMode::Valid, options);
            check::<f32>(device, (taps, 3700), ConvMode::Full, options);
        }
    }
}

#[test]
fn one_block_per_output_for_any_number_of_taps() {
    for device in devices() {
        for lengths in [
            (1, 1),
            (5, 1),
            (1, 5),
            (50, 10),
            (97, 33),
            (40, 256),
            (1030, 1024),
        ] {
            for grid_cap in [None, Some(1), Some(7)] {
                for kernel in A_BLOCK_EACH {
                    let options = with(kernel, None, grid_cap);
                    check::<f64>(device, lengths, ConvMode::Full, options);
                }
            }
        }
    }
}

#[test]
fn the_numba_documents_two_failures_are_right_here() {
    for device in devices() {
        for lengths in [(1000, 9), (300, 65)] {
            check::<f32>(device, lengths, ConvMode::Same, Options::default());
        }
    }
}

#[test]
fn more_shared_memory_than_48_kib() {
    // 12,034 taps and a block of 256 need one element more than 49,152 bytes hold.
    for device in devices() {
        let options = with(&conv1d::TILED, None, None);
        check::<f32>(device, (12_100, 12_034), ConvMode::Valid, options);
    }
}

/// Terms outside the signal are left out, not multiplied with zero: 0 · ∞ would be NaN.
#[test]
fn infinities_and_nan_reach_exactly_the_outputs_that_they_touch() {
    let signal = array![1.0, f64::NAN, 2.0, -3.0, 0.5, f64::INFINITY, 4.0, 1.0];
    let taps = array![f64::INFINITY, 2.0, f64::NEG_INFINITY];
    let finite = vector::<f64>(13, 8);
    // In the middle of a whole tile.
    let mut long = vector::<f64>(13, 2 * 1280 + 700);
    (long[1700], long[1711], long[1900]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
    for device in devices() {
        for &mode in ConvMode::ALL {
            for kernel in ladder::variants(&CONV) {
                let of_full_only = A_BLOCK_EACH.contains(&kernel) && mode != ConvMode::Full;
                if !kernel.takes(Type::F64) || of_full_only || kernel.on_request {
                    continue;
                }
                let options = with(kernel, None, None);
                if [&conv1d::WINDOW, &conv1d::BLOCKED].contains(&kernel) {
                    check_values(device, &long, &taps, mode, options);
                    check_values(device, &long, &array![1.0, -2.0, 0.5], mode, options);
                }
                check_values(device, &signal, &array![1.0, -2.0, 0.5], mode, options);
                check_values(device, &finite, &taps, mode, options);
                check_values(device, &signal, &taps, mode, options);
            }
        }
    }
}

#[test]
fn views_that_are_not_contiguous() {
    let (signal, taps) = (vector::<f32>(14, 400), vector::<f32>(15, 30));
    let (signal, taps) = (signal.slice(s![..;3]), taps.slice(s![..;-2]));
    for device in devices() {
        let result = convolve(device, signal, taps, ConvMode::Same, &Options::default());
        let expected = oracle::convolve::<f32>(signal, taps, ConvMode::Same);
        check::close(device, "strided", &result.expect("a launch"), &expected);
    }
}

#[test]
fn all_add_in_the_same_order() {
    let (signal, taps) = (vector::<f32>(16, 2777), vector::<f32>(17, 40));
    for device in devices() {
        let run = |kernel, threads| {
            let options = with(kernel, Some(threads), None);
            convolve(device, signal.view(), taps.view(), ConvMode::Full, &options)
                .expect("a launch")
        };
        let direct = run(&conv1d::DIRECT, 256);
        check::same_bits("tiled", &direct, &run(&conv1d::TILED, 256));
        check::same_bits("tiled-raw", &direct, &run(&conv1d::TILED_RAW, 256));
        check::same_bits("window", &direct, &run(&conv1d::WINDOW, 128));
        check::same_bits("tiled by 33", &direct, &run(&conv1d::TILED, 33));
        check::same_bits("blocked", &direct, &run(&conv1d::BLOCKED, 128));
    }
}

proptest! {
    #![proptest_config(crate::cases(40))]

    #[test]
    fn any_lengths_block_and_grid(
        signal in 1..600_usize,
        taps in 1..200_usize,
        threads in 1..=1024_u32,
        grid_cap in proptest::option::of(1..9_u32),
        mode in proptest::sample::select(ConvMode::ALL),
        kernel in proptest::sample::select(&OF_ANY_BLOCK),
    ) {
        for device in devices() {
            check::<f32>(device, (signal, taps), mode, with(kernel, Some(threads), grid_cap));
        }
    }

    #[test]
    fn in_registers_any_lengths_and_grid(
        signal in 1..4000_usize,
        taps in 1..=64_usize,
        grid_cap in proptest::option::of(1..9_u32),
        mode in proptest::sample::select(ConvMode::ALL),
        window in any::<bool>(),
    ) {
        let kernel = if window { &conv1d::WINDOW } else { &conv1d::BLOCKED };
        for device in devices() {
            check::<f32>(device, (signal, taps), mode, with(kernel, None, grid_cap));
        }
    }

    #[test]
    fn operands_may_be_exchanged(signal in 1..300_usize, taps in 1..300_usize) {
        let (signal, taps) = (vector::<f64>(18, signal), vector::<f64>(19, taps));
        // For equal lengths the first operand stays the signal, so the order of additions differs.
        prop_assume!(signal.len() != taps.len());
        for device in devices() {
            for &mode in ConvMode::ALL {
                let run = |a: &Array1<f64>, b: &Array1<f64>| {
                    convolve(device, a.view(), b.view(), mode, &Options::default()).expect("a launch")
                };
                check::same_bits(mode, &run(&signal, &taps), &run(&taps, &signal));
            }
        }
    }
}
