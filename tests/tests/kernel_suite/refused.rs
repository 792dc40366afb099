//! Launches that must not happen: each is an error that says what is wrong, and the device works
//! on.

use blockwise::Device;
use blockwise_ops::conv1d::{self, convolve_buffers};
use blockwise_ops::reduce::{TREE, WIDE};
use blockwise_ops::{
    ConvMode, LaunchError, Options, Reduction, convolve, dot, matmul, reduce, reverse, transpose,
};
use blockwise_tests::data::{Draw, matrix, vector};
use blockwise_tests::devices::devices;
use ndarray::{Array1, Array2, array};

/// Runs on every device; each refusal must match, mention all `parts`, and leave the device usable.
#[track_caller]
fn check<R: std::fmt::Debug>(
    launch: impl Fn(&Device) -> Result<R, LaunchError>,
    matches: impl Fn(&LaunchError) -> bool,
    parts: &[&str],
) {
    for device in devices() {
        let error = launch(device).expect_err("this must be refused");
        let text = error.to_string();
        assert!(matches(&error), "{error:?}");
        for part in parts {
            assert!(text.contains(part), "`{text}` does not mention `{part}`");
        }
        let input = array![1_u32, 2, 3];
        let reversed = reverse(device, input.view(), &Options::default());
        assert_eq!(reversed.expect("a good launch"), array![3, 2, 1]);
    }
}

fn convolution<T: blockwise_ops::Float + Draw>(
    signal: usize,
    taps: usize,
    mode: ConvMode,
    options: Options,
) -> impl Fn(&Device) -> Result<Array1<T>, LaunchError> {
    let (signal, taps) = (vector::<T>(1, signal), vector::<T>(2, taps));
    move |device| convolve(device, signal.view(), taps.view(), mode, &options)
}

#[test]
fn more_shared_memory_than_a_block_can_have() {
    let launch = convolution::<f64>(30_000, 30_000, ConvMode::Full, Options::of(&conv1d::TILED));
    let limit = devices()[0].properties().shared_bytes_opt_in;
    check(
        launch,
        |error| {
            matches!(
                error,
                LaunchError::SharedMemory {
                    needed: 242_040,
                    ..
                }
            )
        },
        &["conv1d_tiled_f64", "242040", &limit.to_string()],
    );
}

#[test]
fn more_threads_than_a_block_can_have() {
    let options = Options {
        threads: Some(1025),
        ..Options::of(&conv1d::DIRECT)
    };
    check(
        convolution::<f32>(10, 2, ConvMode::Full, options),
        |error| matches!(error, LaunchError::TooManyThreads { limit: 1024, .. }),
        &["1025", "1024"],
    );
    let options = Options {
        kernel: Some(&TREE),
        threads: Some(u32::MAX),
        ..Options::default()
    };
    check(
        |device| reduce(device, array![1_f32].view(), Reduction::Sum, &options),
        |error| matches!(error, LaunchError::TooManyThreads { .. }),
        &["4294967295", "1024"],
    );
    check(
        convolution::<f64>(
            2000,
            1025,
            ConvMode::Full,
            Options::of(&conv1d::BLOCK_PER_OUTPUT),
        ),
        |error| {
            matches!(
                error,
                LaunchError::TooManyTaps {
                    taps: 1025,
                    limit: 1024,
                    ..
                }
            )
        },
        &["1025", "1024"],
    );
}

#[test]
fn blocks_that_do_not_fit_the_kernel() {
    let no_threads = Options {
        threads: Some(0),
        ..Options::of(&reverse::DYNAMIC)
    };
    let input = array![1_u32, 2];
    check(
        |device| reverse(device, input.view(), &no_threads),
        |error| matches!(error, LaunchError::ZeroThreads { .. }),
        &["at least one thread"],
    );
    let half_a_tile = Options {
        threads: Some(128),
        ..Options::of(&reverse::STATIC)
    };
    check(
        |device| reverse(device, input.view(), &half_a_tile),
        |error| {
            matches!(
                error,
                LaunchError::FixedBlock {
                    needed: 256,
                    given: 128,
                    ..
                }
            )
        },
        &["static", "256", "128"],
    );
    let half_a_warp = Options {
        kernel: Some(&WIDE),
        threads: Some(48),
        ..Options::default()
    };
    check(
        |device| reduce(device, array![1.0_f32].view(), Reduction::Max, &half_a_warp),
        |error| matches!(error, LaunchError::NotWholeWarps { threads: 48, .. }),
        &["wide", "48", "32"],
    );
}

#[test]
fn grids_without_blocks() {
    let options = Options {
        grid_cap: Some(0),
        ..Options::default()
    };
    check(
        |device| transpose(device, array![[1_u32]].view(), &options),
        |error| matches!(error, LaunchError::ZeroGrid { .. }),
        &["at least one block"],
    );
}

#[test]
fn operands_that_do_not_fit() {
    let (a, b) = (matrix::<f32>(1, 3, 4), matrix::<f32>(2, 5, 6));
    check(
        |device| matmul(device, a.view(), b.view(), &Options::default()),
        |error| matches!(error, LaunchError::ShapeMismatch { .. }),
        &["A is 3x4", "B is 5x6"],
    );
    let (a, b) = (vector::<i64>(1, 7), vector::<i64>(2, 8));
    check(
        |device| dot(device, a.view(), b.view(), &Options::default()),
        |error| matches!(error, LaunchError::ShapeMismatch { .. }),
        &["7 elements", "8 elements"],
    );
    check(
        |device| {
            let signal = device.upload(&[1.0_f32; 10])?;
            let taps = device.upload(&[1.0_f32; 3])?;
            let mut output = device.zeros(11)?;
            let options = Options::default();
            convolve_buffers(
                device,
                &signal,
                &taps,
                &mut output,
                ConvMode::Full,
                &options,
            )
        },
        |error| {
            matches!(
                error,
                LaunchError::BufferLength {
                    needed: 12,
                    given: 11,
                    ..
                }
            )
        },
        &["output", "12", "11"],
    );
}

#[test]
fn nothing_where_something_is_needed() {
    for (signal, taps, what) in [(0, 3, "signal"), (3, 0, "taps"), (0, 0, "signal")] {
        for &mode in ConvMode::ALL {
            check(
                convolution::<f32>(signal, taps, mode, Options::default()),
                |error| matches!(error, LaunchError::EmptyInput { .. }),
                &[what, "empty"],
            );
        }
    }
    for reduction in [Reduction::Min, Reduction::Max] {
        let nothing = Array1::<f64>::zeros(0);
        check(
            |device| reduce(device, nothing.view(), reduction, &Options::default()),
            |error| matches!(error, LaunchError::EmptyInput { .. }),
            &["minimum or maximum", "empty"],
        );
    }
}

#[test]
fn sizes_that_overflow() {
    // 2³³ rows and columns with no inner extent: operands of no elements, and 2⁶⁶ of C.
    let (a, b) = (
        Array2::<f32>::zeros((1 << 33, 0)),
        Array2::<f32>::zeros((0, 1 << 33)),
    );
    check(
        |device| matmul(device, a.view(), b.view(), &Options::default()),
        |error| matches!(error, LaunchError::SizeOverflow { .. }),
        &["64 bits"],
    );
}

#[test]
fn types_and_modes_that_a_kernel_does_not_have() {
    check(
        convolution::<f32>(
            10,
            3,
            ConvMode::Full,
            Options::of(&conv1d::BLOCK_PER_OUTPUT),
        ),
        |error| matches!(error, LaunchError::UnsupportedType { given: "f32", .. }),
        &["block-per-output", "f64", "f32"],
    );
    check(
        convolution::<f64>(
            10,
            3,
            ConvMode::Same,
            Options::of(&conv1d::BLOCK_PER_OUTPUT),
        ),
        |error| {
            matches!(
                error,
                LaunchError::UnsupportedMode {
                    given: ConvMode::Same,
                    ..
                }
            )
        },
        &["block-per-output", "full", "same"],
    );
}
