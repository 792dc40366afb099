//! Matrix product: every kernel and type over shapes and grids.

mod addresses;

use std::num::NonZeroU32;

use blockwise::{Device, Type};
use blockwise_ops::matmul::{
    DIRECT, DirectTiles, FEW, MATMUL, MMA, MmaTiles, NAIVE, PIPELINED, REGISTER_TILE, SHORT,
    SLICED, SLICED_COPY, SMALL, TENSOR, TILED, TILED_RAW, Tiles,
};
use blockwise_ops::operation::Call;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{Options, Variant, matmul};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix};
use blockwise_tests::devices::devices;
use blockwise_tests::sampling::Sample;
use kernels::matmul::short::DEEPEST;
use kernels::matmul::slices::Cut;
use ndarray::{Array2, array};
use proptest::prelude::*;

/// Rows, inner, cols: around the tiles of 16 and of 128, in vectors of 4 and not, primes, long and
/// flat, and without rows, inner extent or columns.
const SHAPES: [(usize, usize, usize); 25] = [
    (1, 1, 1),
    (1, 16, 1),
    (15, 16, 17),
    (16, 16, 16),
    (17, 15, 16),
    (16, 17, 15),
    (31, 33, 32),
    (32, 31, 33),
    (37, 41, 43),
    (1, 100, 1),
    (100, 1, 100),
    (1, 7, 130),
    (130, 7, 1),
    (64, 3, 50),
    (2, 200, 3),
    (127, 7, 129),
    (128, 8, 128),
    (129, 9, 127),
    (129, 44, 132),
    (130, 41, 257),
    (1, 4, 4),
    (0, 3, 4),
    (4, 3, 0),
    (5, 0, 20),
    (0, 0, 0),
];

/// Whether there is such a kernel for these elements and products of this shape. The one on tensor
/// cores has tests of its own.
pub(super) fn takes(
    kernel: &Variant,
    ty: Type,
    (rows, inner, cols): (usize, usize, usize),
) -> bool {
    let most = match ty {
        Type::F64 => [4, 4],
        _ => [16, 16],
    };
    let fits = *kernel != FEW || rows <= most[0] || cols <= most[1];
    let is_small = inner * (rows + cols) * ty.bytes() <= 64 << 10;
    let fits = fits && (*kernel != SMALL || is_small);
    let fits = fits && (*kernel != SHORT || inner <= DEEPEST);
    kernel.takes(ty) && fits && *kernel != TENSOR
}

#[track_caller]
pub(super) fn check<T: Precision + Draw>(
    device: &Device,
    (rows, inner, cols): (usize, usize, usize),
    kernel: &'static Variant,
    grid_cap: Option<u32>,
) {
    if !takes(kernel, T::TYPE, (rows, inner, cols)) {
        return;
    }
    let (a, b) = (matrix::<T>(31, rows, inner), matrix::<T>(32, inner, cols));
    let options = Options {
        grid_cap,
        ..Options::of(kernel)
    };
    let case = (T::NAME, rows, inner, cols, options);
    let result = matmul(device, a.view(), b.view(), &options)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let expected = oracle::matmul::<T>(a.view(), b.view());
    check::close(device, case, &result, &expected);
}

#[test]
fn every_shape() {
    for device in devices() {
        for shape in SHAPES {
            for &kernel in MATMUL.variants {
                check::<f32>(device, shape, kernel, None);
                check::<f64>(device, shape, kernel, None);
            }
        }
    }
}

/// A copy of B changes no bit of the product.
#[test]
fn every_shape_by_a_copy_of_b() {
    for device in devices() {
        for (rows, inner, cols) in SHAPES {
            let (a, b) = (matrix::<f32>(31, rows, inner), matrix(32, inner, cols));
            let shape = (rows, inner, cols);
            let options = Options {
                instance: Some(Cut::Tall as u8),
                count: NonZeroU32::new(1),
                ..Options::of(&SLICED_COPY)
            };
            let c = matmul(device, a.view(), b.view(), &options)
                .unwrap_or_else(|error| panic!("{shape:?}: {error}"));
            let expected = oracle::matmul::<f32>(a.view(), b.view());
            check::close(device, shape, &c, &expected);
            let options = Options {
                instance: Some(Tiles::Ragged as u8),
                ..Options::of(&PIPELINED)
            };
            let without = matmul(device, a.view(), b.view(), &options).expect("a launch");
            check::same_bits(shape, &c, &without);
        }
    }
}

/// By the launcher's choice, single elements at a time.
#[test]
fn a_large_product_whose_columns_are_no_vectors() {
    let (rows, inner, cols) = (512, 513, 513);
    let (a, b) = (matrix::<f32>(33, rows, inner), matrix(34, inner, cols));
    let expected = oracle::matmul::<f32>(a.view(), b.view());
    for device in devices() {
        let c = matmul(device, a.view(), b.view(), &Options::default()).expect("a launch");
        check::close(device, (rows, inner, cols), &c, &expected);
    }
}

#[test]
fn a_grid_that_must_stride_in_both_directions() {
    for device in devices() {
        // Tiles of 128 rows.
        for kernel in [&REGISTER_TILE, &PIPELINED] {
            check::<f32>(device, (260, 11, 131), kernel, Some(1));
            check::<f32>(device, (257, 12, 132), kernel, Some(2));
        }
        for grid_cap in [1, 2] {
            for &kernel in MATMUL.variants {
                check::<f32>(device, (50, 19, 67), kernel, Some(grid_cap));
                check::<f64>(device, (67, 33, 50), kernel, Some(grid_cap));
            }
        }
    }
}

#[test]
fn every_shape_in_every_tile() {
    for device in devices() {
        for tiles in Tiles::ALL {
            for grid_cap in [None, Some(1)] {
                let shapes = SHAPES.into_iter();
                let shapes = shapes.chain([(260, 50, 131), (260, 50, 132), (130, 17, 516)]);
                for (rows, inner, cols) in shapes.filter(|shape| tiles.fit(shape.2)) {
                    let (a, b) = (
                        matrix::<f32>(31, rows, inner),
                        matrix::<f32>(32, inner, cols),
                    );
                    let options = Options {
                        instance: Some(tiles as u8),
                        grid_cap,
                        ..Options::of(&PIPELINED)
                    };
                    let result = matmul(device, a.view(), b.view(), &options).expect("a launch");
                    let expected = oracle::matmul::<f32>(a.view(), b.view());
                    let case = (rows, inner, cols, options);
                    check::close(device, case, &result, &expected);
                }
            }
        }
    }
}

/// Slices that are whole, ragged and empty, in every instance: each run draws a third.
#[test]
fn every_shape_in_slices() {
    let sample = Sample::draw("products in slices");
    fn check<T: Precision + Draw>(device: &Device, shape: (usize, usize, usize), options: Options) {
        let (rows, inner, cols) = shape;
        let kernel = options.kernel.expect("chosen");
        if !takes(kernel, T::TYPE, shape) {
            return;
        }
        let (a, b) = (matrix::<T>(31, rows, inner), matrix::<T>(32, inner, cols));
        let result = matmul(device, a.view(), b.view(), &options).expect("a launch");
        let expected = oracle::matmul::<T>(a.view(), b.view());
        check::close(device, (T::NAME, shape, options), &result, &expected);
        let again = matmul(device, a.view(), b.view(), &options).expect("a launch");
        check::same_bits((T::NAME, shape, options), &result, &again);
    }
    let more = [
        (260, 50, 131),
        (67, 100, 36),
        (3, 1100, 1),
        (75, 200, 1),
        (70, 33, 1),
        (1, 1100, 70),
        (2, 700, 33),
        (4, 130, 257),
        (5, 1500, 67),
        (16, 900, 132),
        (11, 77, 130),
        (300, 65, 2),
        (131, 90, 3),
        (67, 300, 8),
        (40, 130, 11),
        (33, 64, 16),
        // Nothing to copy, in rows of C that copies would pad.
        (9, 0, 10),
    ];
    for device in devices() {
        for shape in SHAPES.into_iter().chain(more) {
            for kernel in [&SLICED, &SLICED_COPY, &MMA, &FEW, &DIRECT] {
                for (cut, mma, direct, slices, grid_cap) in [
                    (Cut::Tall, MmaTiles::Large, DirectTiles::Wide, 1, Some(1)),
                    (Cut::Tall, MmaTiles::Tall, DirectTiles::Square, 2, None),
                    (
                        Cut::Square,
                        MmaTiles::Square,
                        DirectTiles::Narrow,
                        3,
                        Some(2),
                    ),
                    (Cut::Small, MmaTiles::Flat, DirectTiles::Small, 5, None),
                    (Cut::Flat, MmaTiles::Slim, DirectTiles::Small, 3, Some(4)),
                    (Cut::Small, MmaTiles::Small, DirectTiles::Small, 1, Some(3)),
                ] {
                    let instance = match *kernel {
                        ref kernel if *kernel == MMA => mma as u8,
                        ref kernel if *kernel == DIRECT => direct as u8,
                        _ => cut as u8,
                    };
                    let options = Options {
                        instance: Some(instance),
                        count: NonZeroU32::new(slices),
                        grid_cap,
                        ..Options::of(kernel)
                    };
                    let of = |ty| sample.takes((ty, shape, kernel.name, slices), 3);
                    if of(Type::F32) {
                        check::<f32>(device, shape, options);
                    }
                    if of(Type::F64) {
                        check::<f64>(device, shape, options);
                    }
                }
            }
        }
    }
}

/// Whichever tiles the launcher takes.
#[test]
fn every_tile_of_doubles_gives_the_same_bits() {
    for (rows, inner, cols) in [(130, 70, 132), (67, 51, 129)] {
        let (a, b) = (
            matrix::<f64>(31, rows, inner),
            matrix::<f64>(32, inner, cols),
        );
        for device in devices() {
            let [one, others @ ..] = MmaTiles::ALL.map(|mma| {
                let options = Options {
                    instance: Some(mma as u8),
                    ..Options::of(&MMA)
                };
                matmul(device, a.view(), b.view(), &options).expect("a launch")
            });
            for other in others {
                check::same_bits((rows, inner, cols), &one, &other);
            }
        }
    }
}

/// Several groups of columns in a block, and more groups than a grid with a cap has blocks.
#[test]
fn a_short_row_times_a_matrix_of_many_columns() {
    for cols in [1 << 14, (1 << 14) + 1] {
        let (a, b) = (matrix::<f32>(1, 1, 13), matrix::<f32>(2, 13, cols));
        let expected = oracle::matmul::<f32>(a.view(), b.view());
        for device in devices() {
            for (slices, grid_cap) in [(1, None), (1, Some(3)), (2, None), (2, Some(1))] {
                let options = Options {
                    count: NonZeroU32::new(slices),
                    grid_cap,
                    ..Options::of(&FEW)
                };
                let result = matmul(device, a.view(), b.view(), &options).expect("a launch");
                check::close(device, (cols, slices), &result, &expected);
            }
        }
    }
}

/// A ticket is at 0 again after each launch: the memory of a call serves the next one.
#[test]
fn slices_that_one_launch_adds_can_be_launched_again() {
    for (rows, inner, cols) in [(2, 700, 33), (7, 600, 70), (9, 800, 5)] {
        let (a, b) = (matrix::<f32>(5, rows, inner), matrix::<f32>(6, inner, cols));
        let expected = oracle::matmul::<f32>(a.view(), b.view());
        for device in devices() {
            let options = Options {
                count: NonZeroU32::new(5),
                ..Options::of(&FEW)
            };
            let mut call = Call::new(device, &MATMUL, options);
            let problem = matmul::problem(Type::F32, [rows, inner], [inner, cols]).expect("fits");
            let [of_a, of_b] = [&a, &b].map(|matrix| {
                let elements = matrix.as_slice().expect("whole");
                device.upload(elements).expect("memory")
            });
            let mut first = None;
            for _ in 0..3 {
                let mut c = device.upload(&vec![f32::NAN; rows * cols]).expect("memory");
                let inputs = [of_a.as_view().into(), of_b.as_view().into()];
                call.enqueue(None, &problem, &inputs, c.as_view_mut().into())
                    .expect("a launch");
                let c = Array2::from_shape_vec((rows, cols), c.to_vec().expect("a copy"));
                let c = c.expect("all elements");
                check::close(device, (rows, inner, cols), &c, &expected);
                let first = first.get_or_insert_with(|| c.clone());
                check::same_bits((rows, inner, cols), first, &c);
            }
        }
    }
}

#[test]
fn no_inner_extent_gives_zeros() {
    for device in devices() {
        for shape in [(3, 0, 18), (1, 0, 18), (3, 0, 1)] {
            for &kernel in MATMUL.variants {
                check::<f32>(device, shape, kernel, None);
                check::<f64>(device, shape, kernel, None);
            }
        }
    }
}

#[test]
fn infinities_and_nan_stay_in_their_rows_and_columns() {
    fn check<T: Precision + Draw>(device: &Device, kernel: &'static Variant, special: [T; 3]) {
        let mut a = matrix::<T>(33, 20, 18);
        let mut b = matrix::<T>(34, 18, 21);
        [a[(19, 17)], a[(3, 0)], b[(17, 20)]] = special;
        let options = Options::of(kernel);
        if takes(kernel, T::TYPE, (20, 18, 21)) {
            let result = matmul(device, a.view(), b.view(), &options).expect("a launch");
            let expected = oracle::matmul::<T>(a.view(), b.view());
            check::close(device, options, &result, &expected);
        }
    }
    for device in devices() {
        for &kernel in MATMUL.variants {
            check(device, kernel, [f32::INFINITY, f32::NAN, f32::NEG_INFINITY]);
            check(device, kernel, [f64::INFINITY, f64::NAN, f64::NEG_INFINITY]);
        }
    }
}

/// What is asked for and cannot be had.
#[test]
fn a_kernel_for_few_rows_or_columns_refuses_more() {
    fn refused<T: Precision + Draw>(rows: usize, cols: usize) {
        let (a, b) = (matrix::<T>(1, rows, 4), matrix::<T>(2, 4, cols));
        let result = matmul(&devices()[0], a.view(), b.view(), &Options::of(&FEW));
        let error = result.expect_err("too many").to_string();
        assert!(error.contains("at most 16 columns"), "{error}");
    }
    refused::<f32>(17, 17);
    refused::<f64>(5, 9);
}

#[test]
fn transposed_views() {
    let (a, b) = (matrix::<f64>(35, 30, 20), matrix::<f64>(36, 25, 30));
    for device in devices() {
        let result = matmul(device, a.t(), b.t(), &Options::default()).expect("a launch");
        let expected = oracle::matmul::<f64>(a.t(), b.t());
        check::close(device, "Aᵀ·Bᵀ", &result, &expected);
    }
}

#[test]
fn kernels_that_add_in_the_order_of_k_agree_to_the_bit() {
    let (a, b) = (matrix::<f32>(37, 35, 50), matrix::<f32>(38, 50, 29));
    for device in devices() {
        let run =
            |kernel| matmul(device, a.view(), b.view(), &Options::of(kernel)).expect("a launch");
        let naive = run(&NAIVE);
        for kernel in [&TILED, &TILED_RAW, &REGISTER_TILE] {
            check::same_bits(("naive and", kernel), &naive, &run(kernel));
        }
    }
}

#[test]
fn a_product_by_hand() {
    let (a, b) = (
        array![[1.0_f32, 2.0, 3.0]],
        array![[1.0_f32], [10.0], [100.0]],
    );
    for device in devices() {
        let result = matmul(device, a.view(), b.view(), &Options::default());
        check::equal(
            device,
            "row · column",
            &result.expect("a launch"),
            &array![[321.0]],
        );
    }
}

proptest! {
    #![proptest_config(crate::cases(30))]

    #[test]
    fn any_shape_and_grid(
        rows in 0..60_usize,
        inner in 0..60_usize,
        cols in 0..60_usize,
        kernel in proptest::sample::select(MATMUL.variants),
        grid_cap in proptest::option::of(1..4_u32),
    ) {
        for device in devices() {
            check::<f32>(device, (rows, inner, cols), kernel, grid_cap);
        }
    }

    #[test]
    fn the_identity_changes_nothing(rows in 1..40_usize, cols in 1..40_usize) {
        let a = matrix::<f64>(39, rows, cols);
        for device in devices() {
            for &kernel in MATMUL.variants {
                if ![rows, cols].iter().all(|&inner| takes(kernel, Type::F64, (rows, inner, cols))) {
                    continue;
                }
                let options = Options::of(kernel);
                let left = matmul(device, Array2::eye(rows).view(), a.view(), &options).expect("a launch");
                let right = matmul(device, a.view(), Array2::eye(cols).view(), &options).expect("a launch");
                check::equal(device, "I·A", &left, &a);
                check::equal(device, "A·I", &right, &a);
            }
        }
    }
}
