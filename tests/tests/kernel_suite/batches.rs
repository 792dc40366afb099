//! Batches of products: every kernel that has them, over shapes, slices and grids.

use std::num::NonZeroU32;

use blockwise::Device;
use blockwise_ops::matmul::{
    DIRECT, DirectTiles, FEW, MMA, MmaTiles, NAIVE, PIPELINED, REGISTER_TILE, SHORT, SLICED,
    SLICED_COPY, SMALL, TENSOR, TILED, Tiles, matmul_batch,
};
use blockwise_ops::operation::Options;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{LaunchError, matmul};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix};
use blockwise_tests::devices::devices;
use kernels::matmul::short::DEEPEST;
use kernels::matmul::slices::Cut;
use ndarray::{Array2, Array3, ArrayView2, Axis};

/// Products, and the extents of each: none, one, primes, around the tiles of 32, 64 and 128, and
/// without rows, inner extent or columns.
const SHAPES: [[usize; 4]; 14] = [
    [0, 5, 5, 5],
    [1, 17, 13, 19],
    [2, 1, 1, 1],
    [3, 15, 17, 16],
    [5, 16, 16, 16],
    [3, 31, 33, 32],
    [2, 33, 32, 31],
    [3, 19, 68, 1],
    [2, 3, 37, 33],
    [2, 63, 5, 65],
    [2, 129, 18, 132],
    [3, 0, 4, 4],
    [3, 4, 0, 8],
    [3, 4, 4, 0],
];

/// Instances of `few`: four lanes that share a row of B in 128 threads, sixteen rows, and teams of 32
/// threads, the last of which read packs of A.
const THIN: u8 = 7;
const FEW_ROWS: u8 = 25;
const FEW_COLS: u8 = 29;
const FEW_COLS_BY_PACKS: u8 = 35;
const NARROW: [u8; 2] = [38, 39];

fn batch<T: Precision + Draw>(seed: u64, of: usize, rows: usize, cols: usize) -> Array3<T> {
    let all = matrix::<T>(seed, of * rows, cols);
    let elements = all.into_raw_vec_and_offset().0;
    Array3::from_shape_vec((of, rows, cols), elements).expect("all elements")
}

/// The matrix of one product: the only one of a side that all share.
fn part<T>(of: &Array3<T>, at: usize) -> ArrayView2<'_, T> {
    let at = if of.len_of(Axis(0)) == 1 { 0 } else { at };
    of.index_axis(Axis(0), at)
}

/// Compares a batch with float64, and with the same products alone to the bit.
#[track_caller]
fn check<T: Precision + Draw>(
    device: &Device,
    [of_a, of_b]: [usize; 2],
    [rows, inner, cols]: [usize; 3],
    options: Options,
) {
    let (a, b) = (
        batch::<T>(51, of_a, rows, inner),
        batch::<T>(52, of_b, inner, cols),
    );
    let products = if of_a == 1 { of_b } else { of_a };
    let case = (T::NAME, [of_a, of_b], [rows, inner, cols], options);
    let c = matmul_batch(device, a.view(), b.view(), &options)
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    assert_eq!(c.dim(), (products, rows, cols), "{case:?}");
    for at in 0..products {
        let (a, b) = (part(&a, at), part(&b, at));
        let c: Array2<T> = part(&c, at).to_owned();
        check::close(device, (case, at), &c, &oracle::matmul::<T>(a, b));
        let alone = matmul(device, a, b, &options).expect("a launch");
        if options.count.is_some() {
            check::same_bits((case, at), &c, &alone);
        }
    }
}

/// Whole products and slices, covering and striding grids, one side shared or none.
#[test]
fn every_shape_in_every_tile() {
    let of = |kernel, instance, count, grid_cap| Options {
        instance: Some(instance),
        count: NonZeroU32::new(count),
        grid_cap,
        ..Options::of(kernel)
    };
    for device in devices() {
        for [products, rows, inner, cols] in SHAPES {
            let each = [rows, inner, cols];
            for sides in [[products; 2], [1, products], [products, 1]] {
                for (cut, count, cap) in [
                    (Cut::Tall, 1, None),
                    (Cut::Square, 2, Some(1)),
                    (Cut::Square, 1, Some(2)),
                    (Cut::Small, 1, None),
                    (Cut::Small, 3, Some(2)),
                    (Cut::Flat, 1, Some(1)),
                    (Cut::Flat, 2, None),
                ] {
                    let options = of(&SLICED, cut as u8, count, cap);
                    check::<f32>(device, sides, each, options);
                }
                for (tiles, cap) in [(Tiles::Wide, None), (Tiles::Wide, Some(1))] {
                    let options = of(&PIPELINED, tiles as u8, 1, cap);
                    check::<f32>(device, sides, each, options);
                }
                for (tiles, count, cap) in [
                    (DirectTiles::Small, 1, None),
                    (DirectTiles::Square, 2, Some(1)),
                    (DirectTiles::Wide, 1, Some(2)),
                    (DirectTiles::Narrow, 3, None),
                ] {
                    let options = of(&DIRECT, tiles as u8, count, cap);
                    check::<f64>(device, sides, each, options);
                }
                for (fits, instance, both) in [
                    (rows <= 4, THIN, true),
                    (rows <= 16, FEW_ROWS, false),
                    (cols <= 16, FEW_COLS, cols <= 4),
                    (cols == 1 && inner % 4 == 0, FEW_COLS_BY_PACKS, true),
                    (cols <= 8, NARROW[0], false),
                    (cols <= 16, NARROW[1], false),
                ] {
                    // Products that share B are one, of more rows.
                    let fits = fits && sides[1] == products;
                    for (count, cap) in [(1, None), (2, Some(1)), (3, Some(2))] {
                        let options = of(&FEW, instance, count, cap);
                        if fits {
                            check::<f32>(device, sides, each, options);
                        }
                        if fits && both {
                            check::<f64>(device, sides, each, options);
                        }
                    }
                }
                for cap in [None, Some(1)] {
                    for (kernel, fits) in [(&SMALL, true), (&SHORT, inner <= DEEPEST)] {
                        let options = of(kernel, 0, 1, cap);
                        if fits {
                            check::<f32>(device, sides, each, options);
                            check::<f64>(device, sides, each, options);
                        }
                    }
                }
                for (tiles, count, cap) in [
                    (MmaTiles::Small, 1, None),
                    (MmaTiles::Small, 2, Some(1)),
                    (MmaTiles::Square, 1, None),
                    (MmaTiles::Square, 2, Some(1)),
                    (MmaTiles::Tall, 1, Some(2)),
                    (MmaTiles::Large, 2, None),
                ] {
                    let options = of(&MMA, tiles as u8, count, cap);
                    check::<f64>(device, sides, each, options);
                }
                check::<f32>(device, sides, each, Options::default());
                check::<f64>(device, sides, each, Options::default());
            }
        }
    }
}

/// Views of any layout: turned, reversed, every second matrix.
#[test]
fn views_of_any_layout() {
    let (a, b) = (batch::<f64>(1, 6, 7, 9), batch::<f64>(2, 3, 9, 5));
    for device in devices() {
        let a = a.slice(ndarray::s![..;-2, .., ..]).permuted_axes([0, 2, 1]);
        let b = b.slice(ndarray::s![.., ..7, ..]);
        let c = matmul_batch(device, a, b, &Options::default()).expect("a launch");
        for at in 0..3 {
            let (a, b) = (a.index_axis(Axis(0), at), b.index_axis(Axis(0), at));
            let c = c.index_axis(Axis(0), at).to_owned();
            check::close(device, at, &c, &oracle::matmul::<f64>(a, b));
        }
    }
}

#[test]
fn batches_that_do_not_match_are_told_with_both_shapes() {
    let device = &devices()[0];
    let tried = |a: [usize; 3], b: [usize; 3], options: Options| {
        let (a, b) = (Array3::<f32>::zeros(a), Array3::<f32>::zeros(b));
        let made = matmul_batch(device, a.view(), b.view(), &options);
        made.expect_err("refused").to_string()
    };
    let default = Options::default();
    for (a, b, text) in [
        ([2, 3, 4], [3, 4, 5], "A is 2x3x4 and B is 3x4x5: batches"),
        ([2, 3, 4], [2, 5, 5], "A is 2x3x4 and B is 2x5x5: a product"),
        ([0, 3, 4], [2, 4, 5], "A is 0x3x4 and B is 2x4x5: batches"),
    ] {
        let error = tried(a, b, default);
        assert!(error.starts_with(text), "{error}");
    }
    for kernel in [&NAIVE, &TILED, &REGISTER_TILE, &SLICED_COPY, &TENSOR] {
        let error = tried([2, 3, 4], [2, 4, 5], Options::of(kernel));
        let text = format!("kernel `{kernel}` multiplies two matrices");
        assert!(error.starts_with(&text), "{error}");
    }
    let too_many = blockwise_ops::matmul::batch(
        blockwise::Type::F32,
        (usize::MAX, [2, 1]),
        (usize::MAX, [1, 2]),
    );
    assert!(matches!(too_many, Err(LaunchError::SizeOverflow { .. })));
}
