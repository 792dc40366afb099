//! Convolutions of each row of a matrix: the bits of each row alone, whatever the rows beside it.

mod common;

use std::num::NonZeroU32;

use blockwise::{AnyBuffer, Device, Type};
use blockwise_ops::conv1d::{self, CONV, problem};
use blockwise_ops::operation::{Call, Problem, plan};
use blockwise_ops::oracle::Precision;
use blockwise_ops::{ConvMode, LaunchError, Options, Variant, convolve, convolve_rows};
use kernels::conv1d::rows::{JOINED, conv1d_rows};
use kernels::conv1d::window::THREADS;
use ndarray::{Array2, Axis, s};

/// Pseudo-random numbers between −1 and 1.
fn noise<T: Precision>(seed: u64, rows: usize, len: usize) -> Array2<T> {
    let mut state = seed;
    Array2::from_shape_simple_fn((rows, len), || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        T::nearest((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    })
}

fn bits<T: Precision>(values: impl IntoIterator<Item = T>) -> Vec<u64> {
    let values = values.into_iter();
    values
        .map(|value| {
            let value: f64 = value.into();
            value.to_bits()
        })
        .collect()
}

/// Compares rows with the same kernel on each alone, to the bit.
#[track_caller]
fn check<T: Precision>(
    device: &Device,
    [of_signal, of_taps]: [usize; 2],
    [samples, taps]: [usize; 2],
    mode: ConvMode,
    options: Options,
) {
    let (signal, taps) = (
        noise::<T>(21, of_signal, samples),
        noise::<T>(22, of_taps, taps),
    );
    same(device, &signal, &taps, mode, options);
}

#[track_caller]
fn same<T: Precision>(
    device: &Device,
    signal: &Array2<T>,
    taps: &Array2<T>,
    mode: ConvMode,
    options: Options,
) {
    let case = (T::NAME, signal.dim(), taps.dim(), mode, options);
    let result = convolve_rows(device, signal.view(), taps.view(), mode, &options);
    let result = result.unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let rows = signal.nrows().max(taps.nrows());
    assert_eq!(result.nrows(), rows, "{case:?}");
    let only = |of: usize, row: usize| if of == 1 { 0 } else { row };
    for (row, got) in result.axis_iter(Axis(0)).enumerate() {
        let of = [signal, taps].map(|it| it.row(only(it.nrows(), row)));
        // Direct sums have the same bits, whatever the kernel.
        let options = match options.kernel {
            Some(kernel) if *kernel == conv1d::ROWS_EACH => with(&conv1d::DIRECT),
            _ => options,
        };
        let alone = convolve(device, of[0], of[1], mode, &options);
        let alone = alone.unwrap_or_else(|error| panic!("{case:?}: {error}"));
        assert_eq!(bits(got.to_vec()), bits(alone), "{case:?}, row {row}");
    }
}

fn with(kernel: &'static Variant) -> Options {
    Options::of(kernel)
}

#[test]
fn rows_have_the_bits_that_they_have_alone() {
    for device in &common::devices() {
        // Tiles from 2,560 outputs on, or 1,280.
        for (kernel, span) in [(&conv1d::ROWS_EACH, 2560)] {
            // Around a tile, at every distance from a pack; more taps than samples.
            for lengths in [
                [1, 1],
                [1, 5],
                [7, 3],
                [31, 37],
                [span - 1, 5],
                [span + 4, 5],
                [span + 7, 6],
                [span + 9, 31],
            ] {
                for &mode in ConvMode::ALL {
                    let of = match lengths[0] % 3 {
                        0 => [3, 1],
                        1 => [3, 3],
                        _ => [1, 3],
                    };
                    check::<f32>(device, of, lengths, mode, with(kernel));
                    check::<f64>(device, of, lengths, mode, with(kernel));
                }
            }
        }
    }
}

/// The arguments of a launch of the kernel itself: the offset, the grid, how many elements into
/// their memory the outputs begin, and the form.
#[derive(Clone, Copy, Debug)]
struct By {
    offset: usize,
    grid: (u32, u32),
    ahead: usize,
    log_width: usize,
}

/// Launches the kernel with as many outputs as samples, and compares each row with what it is
/// alone, to the bit.
macro_rules! launched {
    ($($launched:ident $t:ident)*) => {$(
        #[track_caller]
        fn $launched(device: &Device, [signal, taps]: [&Array2<$t>; 2], by: By) {
            let ((rows, samples), (of_taps, count)) = (signal.dim(), taps.dim());
            let upload = |of: &Array2<$t>| device.upload(of.as_slice().expect("in order"));
            let [x, h] = [signal, taps].map(|it| upload(it).expect("memory"));
            let output = device.filled::<$t>(by.ahead + rows * samples, 0xFF);
            let mut output = output.expect("memory");
            let kernel = conv1d_rows::<$t>::on(device).expect("the kernel");
            let launched = kernel.grid(by.grid).block(THREADS).launch(
                &x,
                &h,
                output.view_mut(by.ahead..),
                by.offset,
                samples,
                count,
                samples,
                samples,
                if of_taps == 1 { 0 } else { count },
                by.log_width,
            );
            launched.expect("within the contract");
            let got = output.to_vec().expect("a copy");
            for (row, got) in got[by.ahead..].chunks(samples).enumerate() {
                let of = [signal.row(row), taps.row(row.min(of_taps - 1))];
                let options = with(&conv1d::DIRECT);
                let full = convolve(device, of[0], of[1], ConvMode::Full, &options);
                let full = full.expect("it is launched");
                let alone = full.slice(s![by.offset..by.offset + samples]).to_vec();
                let case = format!("{:?} {:?} {by:?}, row {row}", signal.dim(), taps.dim());
                assert_eq!(bits(got.to_vec()), bits(alone), "{case}");
            }
        }
    )*};
}

launched!(launched_f32 f32 launched_f64 f64);

/// A thread takes rows four at a time where they share the taps, and the last of them one by one.
#[test]
fn rows_abreast_have_the_bits_that_they_have_alone() {
    for device in &common::devices() {
        for (outputs, log_width) in [(31, 5), (40, 5), (8, 3)] {
            let (rows, taps) = (29, noise::<f32>(22, 29, 7));
            let signal = noise::<f32>(21, rows, outputs);
            for (grid, of_taps) in [((1, 1), 1), ((2, 1), 1), ((1, 2), 1), ((1, 1), rows)] {
                let own = taps.slice(s![..of_taps, ..]).to_owned();
                let by = By {
                    offset: 3,
                    grid,
                    ahead: 0,
                    log_width,
                };
                launched_f32(device, [&signal, &own], by);
            }
        }
    }
}

/// Rows as one signal, at any distance of the outputs from a pack: those that are not finite reach
/// no other row.
#[test]
fn joined_rows_have_the_bits_that_they_have_alone() {
    for device in &common::devices() {
        for (rows, samples, taps) in [
            (1, 4, 1),
            (3, 4, 4),
            (700, 4, 3),
            (500, 5, 5),
            (200, 13, 2),
            (40, 65, 64),
            (30, 97, 31),
            (2, 639, 5),
            (3, 640, 33),
            (2, 2561, 17),
        ] {
            for (at, offset) in [(taps - 1) / 2, 0, taps - 1].into_iter().enumerate() {
                let by = By {
                    offset,
                    grid: (1 + at as u32, 1),
                    ahead: (rows + at) % 4,
                    log_width: JOINED,
                };
                let mut signal = noise::<f64>(21, rows, samples);
                let taps = noise::<f64>(22, 1, taps);
                if rows > 2 {
                    signal.row_mut(1).fill(f64::INFINITY);
                    signal[(2, samples - 1)] = f64::NAN;
                }
                launched_f64(device, [&signal, &taps], by);
                let narrow = |of: &Array2<f64>| of.mapv(|it| it as f32);
                launched_f32(device, [&narrow(&signal), &narrow(&taps)], by);
            }
        }
    }
}

/// What the form needs is in the contract, and its lack is refused before the launch.
#[test]
fn rows_are_joined_only_without_gaps_and_with_shared_taps() {
    let device = Device::emulator();
    let x = device.upload(&[1.0_f32; 60]).expect("memory");
    let refused = |[samples, count, outputs, pitch, of_taps]: [usize; 5], offset, grid| {
        let elements = outputs.min(9) * 4;
        let mut output = device.filled::<f32>(elements, 0xFF).expect("memory");
        let kernel = conv1d_rows::<f32>::on(&device).expect("the kernel");
        let launch = kernel.grid(grid).block(THREADS);
        let (h, y) = (&x, &mut output);
        let launched = launch.launch(
            &x, h, y, offset, samples, count, outputs, pitch, of_taps, JOINED,
        );
        launched.is_err()
    };
    assert!(!refused([9, 3, 9, 9, 0], 1, (1, 1)));
    for (lens, offset, grid) in [
        ([9, 3, 9, 10, 0], 1, (1, 1)),
        ([9, 3, 7, 9, 0], 1, (1, 1)),
        ([9, 3, 9, 9, 3], 1, (1, 1)),
        ([3, 3, 3, 3, 0], 1, (1, 1)),
        ([9, 10, 9, 9, 0], 1, (1, 1)),
        // The last outputs of a row would be sums of the next one's samples.
        ([9, 3, 9, 9, 0], 3, (1, 1)),
        ([1 << 63, 3, 1 << 63, 1 << 63, 0], 1, (1, 1)),
        ([9, 3, 9, 9, 0], 1, (1, 2)),
        ([9, 0, 9, 9, 0], 0, (1, 1)),
    ] {
        assert!(refused(lens, offset, grid), "{lens:?} {offset} {grid:?}");
    }
}

#[test]
fn transforms_take_rows() {
    for device in &common::devices() {
        for (of, lengths, mode) in [
            ([3, 1], [2003, 101], ConvMode::Same),
            ([3, 3], [2003, 101], ConvMode::Full),
            ([1, 3], [700, 701], ConvMode::Valid),
            ([3, 1], [70, 901], ConvMode::Same),
            ([2, 2], [64, 64], ConvMode::Valid),
        ] {
            check::<f32>(device, of, lengths, mode, with(&conv1d::FFT2048));
            check::<f64>(device, of, lengths, mode, with(&conv1d::FFT4096));
            check::<f32>(device, of, lengths, mode, with(&conv1d::ROWS_EACH));
        }
        let lengths = [9001, 1021];
        for kernel in [&conv1d::FFT4096, &conv1d::FFT8192, &conv1d::FFT16384] {
            check::<f32>(device, [2, 2], lengths, ConvMode::Same, with(kernel));
        }
        for kernel in [&conv1d::FFT8192, &conv1d::FFT16384] {
            check::<f32>(device, [3, 1], lengths, ConvMode::Full, with(kernel));
        }
        // Through global memory: row by row, or together, whichever operand the taps are.
        let long = with(&conv1d::FFT65536);
        check::<f32>(device, [2, 2], [3001, 300], ConvMode::Full, long);
        check::<f32>(device, [3, 1], [3001, 300], ConvMode::Same, long);
        check::<f32>(device, [1, 2], [300, 3001], ConvMode::Same, long);
        check::<f64>(
            device,
            [3, 1],
            [2001, 300],
            ConvMode::Valid,
            with(&conv1d::FFT131072),
        );
        // Two pairs of windows a row, three a batch: the second row's are in both.
        let batches = Options {
            count: NonZeroU32::new(4),
            ..long
        };
        check::<f32>(device, [3, 1], [140_000, 300], ConvMode::Full, batches);
    }
}

/// A row that is not finite, loud or silent changes nothing in the rows beside it.
#[test]
fn nothing_reaches_another_row() {
    for device in &common::devices() {
        let mut signal = noise::<f32>(31, 5, 1500);
        signal[(1, 700)] = f32::NAN;
        signal[(2, 3)] = f32::INFINITY;
        signal.slice_mut(s![3, 400..]).fill(0.0);
        signal.slice_mut(s![4, ..]).mapv_inplace(|it| it * 1e30);
        let taps = noise::<f32>(32, 1, 80);
        for kernel in [&conv1d::ROWS_EACH, &conv1d::FFT2048] {
            same(device, &signal, &taps, ConvMode::Same, with(kernel));
            let all = convolve_rows(
                device,
                signal.view(),
                taps.view(),
                ConvMode::Same,
                &with(kernel),
            );
            let all = all.expect("it is launched");
            let finite = |row: usize| all.row(row).iter().all(|it| it.is_finite());
            assert_eq!(
                [0, 1, 2, 3, 4].map(finite),
                [true, false, false, true, true]
            );
        }
    }
}

#[test]
fn many_rows_are_counted_along_two_dimensions_of_the_grid() {
    let device = Device::emulator();
    let rows = |rows: usize| Problem {
        rows: [rows; 2],
        ..problem(Type::F32, [5000, 3], ConvMode::Same).expect("no overflow")
    };
    let grid = |all, options: Options| {
        let plan = plan(&CONV, &rows(all), &options, device.properties());
        plan.map(|plan| plan.map(|plan| plan.launch.grid))
    };
    let window = with(&conv1d::ROWS_EACH);
    let planned = |all, options| grid(all, options).expect("within every limit");
    assert_eq!(planned(0, window), None);
    assert_eq!(planned(65_535, window), Some([2, 65_535, 1]));
    assert_eq!(planned(65_536, window), Some([2, 32_768, 2]));
    assert_eq!(planned(200_001, window), Some([2, 50_001, 4]));
    let most = 65_535 * 65_535;
    assert_eq!(planned(most, window), Some([2, 65_535, 65_535]));
    let capped = Options {
        grid_cap: Some(1),
        ..window
    };
    assert_eq!(planned(70, capped), Some([1, 70, 1]));
    assert!(matches!(
        grid(most + 1, window),
        Err(LaunchError::TooManyBlocks { .. })
    ));
    let error = grid(2, with(&conv1d::TILED)).expect_err("it has one row");
    assert!(
        error.to_string().contains("convolves one signal"),
        "{error}"
    );
    assert!(error.hint().is_some());
    // Short rows share blocks, which stride over them, where they cannot be joined.
    let short = |outputs: usize, rows| {
        let problem = Problem {
            rows: [rows, 1],
            ..problem(Type::F32, [outputs + 2, 3], ConvMode::Valid).expect("no overflow")
        };
        let plan = plan(&CONV, &problem, &window, device.properties()).expect("within every limit");
        plan.expect("there are outputs").launch.grid
    };
    assert_eq!(short(9, 100), [1, 13, 1]);
    assert_eq!(short(1000, 3), [16, 2, 1]);
    assert_eq!(short(64, 1_000_000), [1, 4224, 1]);
    // Four rows a thread, where one would be more than a wave of blocks; two waves of four, or one.
    assert_eq!(short(64, 1320), [1, 660, 1]);
    assert_eq!(short(64, 1322), [1, 166, 1]);
    assert_eq!(short(64, 7000), [1, 660, 1]);
    assert_eq!(short(64, 11_000), [1, 1375, 1]);
    assert_eq!(short(799, 500), [13, 50, 1]);
    assert_eq!(short(1001, 1000), [16, 125, 1]);
    // More than y counts, on the device: a row of one sample each.
    for device in &common::devices() {
        let signal = noise::<f32>(5, 65_537, 1);
        let taps = ndarray::array![[2.0]];
        let of = |kernel| {
            convolve_rows(
                device,
                signal.view(),
                taps.view(),
                ConvMode::Full,
                &with(kernel),
            )
        };
        let doubled = signal.mapv(|it| it * 2.0);
        assert_eq!(of(&conv1d::ROWS_EACH).expect("it is launched"), doubled);
    }
}

/// Spectra of some rows at a time, in memory that serves fewer rows too.
#[test]
fn a_call_serves_other_numbers_of_rows() {
    for device in &common::devices() {
        let mut call = Call::new(device, &CONV, with(&conv1d::FFT2048));
        for of in [[3, 3], [7, 7], [7, 1], [1, 2]] {
            let lengths = [400, 70];
            let problem = Problem {
                rows: of,
                ..problem(Type::F32, lengths, ConvMode::Same).expect("no overflow")
            };
            let signal = noise::<f32>(7, of[0], lengths[0]);
            let taps = noise::<f32>(8, of[1], lengths[1]);
            let rows = of[0].max(of[1]);
            let upload = |of: &Array2<f32>| {
                let bytes = bytemuck::cast_slice(of.as_slice().expect("in order"));
                AnyBuffer::upload(device, Type::F32, bytes).expect("memory")
            };
            let inputs = [upload(&signal), upload(&taps)];
            let inputs = inputs.each_ref().map(AnyBuffer::as_view);
            let mut output =
                AnyBuffer::filled(device, Type::F32, rows * 400, 0xFF).expect("memory");
            call.enqueue(None, &problem, &inputs, output.as_view_mut())
                .expect("it is launched");
            let mut got = vec![0.0_f32; rows * 400];
            let bytes = bytemuck::cast_slice_mut(&mut got);
            output.as_view().copy_to_slice(bytes).expect("a copy");
            let alone = convolve_rows(
                device,
                signal.view(),
                taps.view(),
                ConvMode::Same,
                &with(&conv1d::FFT2048),
            );
            assert_eq!(
                got,
                alone.expect("it is launched").into_raw_vec_and_offset().0
            );
        }
    }
}

#[test]
fn no_rows_have_no_outputs_and_others_are_refused() {
    let device = Device::emulator();
    let of = |signal: [usize; 2], taps: [usize; 2]| {
        let (signal, taps) = (
            noise::<f32>(1, signal[0], signal[1]),
            noise::<f32>(2, taps[0], taps[1]),
        );
        let options = Options {
            count: NonZeroU32::new(1),
            ..Options::default()
        };
        convolve_rows(
            &device,
            signal.view(),
            taps.view(),
            ConvMode::Full,
            &options,
        )
    };
    assert_eq!(of([0, 9], [1, 3]).expect("nothing to do").dim(), (0, 11));
    let error = of([3, 9], [2, 4]).expect_err("other rows").to_string();
    assert!(error.contains("3x9") && error.contains("2x4"), "{error}");
    assert!(matches!(
        of([3, 0], [1, 2]),
        Err(LaunchError::EmptyInput { .. })
    ));
}
