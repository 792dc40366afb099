//! Transpose and reversal: every kernel and type over shapes, blocks and grids. Results are exact.

use blockwise::{Device, Matrix};
use blockwise_ops::compare::ToNumber;
use blockwise_ops::reverse::{self, REVERSE};
use blockwise_ops::transpose::{self, TRANSPOSE};
use blockwise_ops::{Element, Options, Variant, oracle};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix, vector};
use blockwise_tests::devices::devices;
use ndarray::{Array1, Array2, ArrayView2, s};
use proptest::prelude::*;

#[track_caller]
pub(super) fn check_transpose<T: Element + ToNumber + Draw>(
    device: &Device,
    (rows, cols): (usize, usize),
    options: Options,
) {
    // The documents' kernels have only the widths that are theirs.
    if !options.kernel.is_none_or(|kernel| kernel.takes(T::TYPE)) {
        return;
    }
    let input = matrix::<T>(41, rows, cols);
    let case = (T::NAME, rows, cols, options);
    let result = transpose::transpose(device, input.view(), &options)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    check::equal(device, case, &result, &oracle::transpose(input.view()));
}

#[track_caller]
pub(super) fn check_reverse<T: Element + ToNumber + Draw>(
    device: &Device,
    n: usize,
    options: Options,
) {
    // The documents' kernels have only the widths that are theirs.
    if !options.kernel.is_none_or(|kernel| kernel.takes(T::TYPE)) {
        return;
    }
    let input = vector::<T>(42, n);
    let case = (T::NAME, n, options);
    let result = reverse::reverse(device, input.view(), &options)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    check::equal(device, case, &result, &oracle::reverse(input.view()));
}

#[test]
fn transposes_of_every_shape() {
    let shapes = [
        (0, 5),
        (5, 0),
        (1, 1),
        (1, 100),
        (100, 1),
        (8, 8),
        (31, 32),
        (32, 31),
        (32, 32),
        (33, 32),
        (32, 33),
        (67, 129),
        (129, 67),
        // Tiles inside, of which each row of the output begins at another multiple, or all at the
        // same one.
        (64, 128),
        (71, 128),
        (65, 129),
        (203, 300),
        (208, 256),
        // Of packs a tile inside, whose rows begin at three places in a pack.
        (135, 381),
        // Whole packs on both sides.
        (4, 260),
        (132, 136),
        (260, 60),
        // Of doubles more quads across than a block's threads move at once.
        (86, 52),
        (52, 86),
    ];
    for device in devices() {
        for shape in shapes {
            for kernel in ladder::variants(&TRANSPOSE) {
                let options = Options::of(kernel);
                check_transpose::<f32>(device, shape, options);
                check_transpose::<f64>(device, shape, options);
                check_transpose::<i64>(device, shape, options);
                check_transpose::<u32>(device, shape, options);
                check_transpose::<u64>(device, shape, options);
            }
        }
    }
}

#[test]
fn transposes_with_a_grid_that_must_stride_in_both_directions() {
    for device in devices() {
        for grid_cap in [1, 2] {
            for kernel in ladder::variants(&TRANSPOSE) {
                let options = Options {
                    kernel: Some(kernel),
                    grid_cap: Some(grid_cap),
                    ..Options::default()
                };
                check_transpose::<u32>(device, (70, 133), options);
                check_transpose::<u64>(device, (133, 70), options);
                check_transpose::<u32>(device, (339, 391), options);
            }
        }
    }
}

#[test]
fn a_transpose_of_a_view_that_is_not_contiguous() {
    let input = matrix::<f32>(43, 40, 60);
    let view = input.slice(s![1..;2, ..;-1]);
    for device in devices() {
        let result = transpose::transpose(device, view, &Options::default()).expect("a launch");
        check::equal(device, "view", &result, &oracle::transpose(view));
    }
}

/// Parts of buffers begin anywhere: then no kernel moves packs.
#[test]
fn transposes_of_parts_of_buffers() {
    // The largest tile, and more on each side.
    let (rows, cols) = (140, 268);
    let len = rows * cols;
    let values = vector::<f32>(44, len + 1).to_vec();
    for device in devices() {
        let from = device.upload(&values).expect("memory");
        for kernel in ladder::variants(&TRANSPOSE) {
            let options = Options::of(kernel);
            for [from_at, to_at] in [[1, 0], [0, 1], [1, 1]] {
                let mut to = device.upload(&vec![-7.0_f32; len + 1]).expect("memory");
                let part = from.view(from_at..from_at + len);
                let output = to.view_mut(to_at..to_at + len);
                transpose::enqueue(
                    device,
                    None,
                    Matrix::new(part, rows, cols),
                    output,
                    &options,
                )
                .unwrap_or_else(|error| panic!("{kernel}: {error}"));
                let result = to.to_vec().expect("a copy");
                let input = ArrayView2::from_shape((rows, cols), &values[from_at..from_at + len]);
                let expected = oracle::transpose(input.expect("as many elements"));
                let output = result[to_at..to_at + len].to_vec();
                let output = Array2::from_shape_vec((cols, rows), output).expect("as many");
                check::equal(device, (kernel, from_at, to_at), &output, &expected);
                let spare = if to_at == 0 { len } else { 0 };
                assert_eq!(result[spare], -7.0, "{kernel}");
            }
        }
    }
}

const LENGTHS: [usize; 12] = [0, 1, 2, 3, 32, 255, 256, 257, 511, 512, 1009, 5000];

/// The kernels that take any block.
const OF_ANY_BLOCK: [&Variant; 3] = [&reverse::DYNAMIC, &reverse::DYNAMIC_RAW, &reverse::DIRECT];

fn by(kernel: &'static Variant, threads: u32, grid_cap: Option<u32>) -> Options {
    Options {
        threads: Some(threads),
        grid_cap,
        ..Options::of(kernel)
    }
}

#[test]
fn reversals_of_every_length() {
    for device in devices() {
        for n in LENGTHS {
            for &kernel in REVERSE.variants {
                for grid_cap in [None, Some(1), Some(2)] {
                    let options = Options {
                        grid_cap,
                        ..Options::of(kernel)
                    };
                    check_reverse::<f32>(device, n, options);
                    check_reverse::<i64>(device, n, options);
                }
            }
        }
    }
}

#[test]
fn reversals_with_any_block() {
    for device in devices() {
        for kernel in OF_ANY_BLOCK {
            for threads in [1, 2, 7, 31, 33, 100, 257, 1000, 1024] {
                check_reverse::<u32>(device, 1009, by(kernel, threads, None));
                check_reverse::<f64>(device, 1009, by(kernel, threads, Some(2)));
            }
        }
    }
}

/// Payloads of NaN and the sign of zero are data too.
#[test]
fn moved_values_keep_every_bit() {
    let bits = [0xFFC0_1234_u32, 0x7F80_0001, 0x8000_0000, 0, 1, 0x7FC0_0000];
    let input = Array1::from_iter(bits.map(f32::from_bits));
    for device in devices() {
        for &kernel in REVERSE.variants {
            let options = Options::of(kernel);
            let result = reverse::reverse(device, input.view(), &options).expect("a launch");
            check::same_bits(kernel, &result, &oracle::reverse(input.view()));
        }
        for kernel in ladder::variants(&TRANSPOSE) {
            let options = Options::of(kernel);
            let input = input
                .view()
                .into_shape_with_order((2, 3))
                .expect("6 elements");
            let result = transpose::transpose(device, input, &options).expect("a launch");
            check::same_bits(kernel, &result, &oracle::transpose(input));
        }
    }
}

proptest! {
    #![proptest_config(crate::cases(40))]

    #[test]
    fn transposes_with_tiles_of_any_extents(
        rows in 1..300_usize,
        cols in 1..400_usize,
        multiple in proptest::sample::select(&[1_usize, 4]),
        kernel in proptest::sample::select(vec![&transpose::THIN, &transpose::QUADS, &transpose::PACKS]),
        grid_cap in proptest::option::of(1..3_u32),
    ) {
        let options = Options { kernel: Some(kernel), grid_cap, ..Options::default() };
        let shape = (rows.next_multiple_of(multiple), cols.next_multiple_of(multiple));
        for device in devices() {
            check_transpose::<f32>(device, shape, options);
            check_transpose::<f64>(device, shape, options);
        }
    }

    #[test]
    fn aligned_transposes_of_any_extents(
        rows in 1..300_usize,
        cols in 1..400_usize,
        grid_cap in proptest::option::of(1..3_u32),
        kernel in proptest::sample::select(vec![&transpose::ALIGNED, &ladder::NARROW]),
    ) {
        let options = Options { grid_cap, ..Options::of(kernel) };
        for device in devices() {
            check_transpose::<f32>(device, (rows, cols), options);
        }
    }

    #[test]
    fn twice_transposed_is_the_input(
        rows in 0..100_usize,
        cols in 0..100_usize,
        kernel in proptest::sample::select(Vec::from_iter(ladder::variants(&TRANSPOSE))),
        grid_cap in proptest::option::of(1..4_u32),
    ) {
        let input = matrix::<f32>(44, rows, cols);
        let options = Options { kernel: Some(kernel), grid_cap, ..Options::default() };
        for device in devices() {
            check_transpose::<f32>(device, (rows, cols), options);
            let once = transpose::transpose(device, input.view(), &options).expect("a launch");
            let twice = transpose::transpose(device, once.view(), &options).expect("a launch");
            check::equal(device, options, &twice, &input);
        }
    }

    #[test]
    fn twice_reversed_is_the_input(
        n in 0..3000_usize,
        kernel in proptest::sample::select(&OF_ANY_BLOCK),
        threads in 1..=1024_u32,
        grid_cap in proptest::option::of(1..9_u32),
    ) {
        let input = vector::<u32>(45, n);
        let options = by(kernel, threads, grid_cap);
        for device in devices() {
            check_reverse::<u64>(device, n, options);
            let once = reverse::reverse(device, input.view(), &options).expect("a launch");
            let twice = reverse::reverse(device, once.view(), &options).expect("a launch");
            check::equal(device, options, &twice, &input);
        }
    }
}
