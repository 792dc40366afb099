//! Plans of matrix products.

use std::num::NonZeroU32;

use super::super::{MATMUL, NAIVE, TILED, problem};
use super::*;
use crate::LaunchPlan;
use crate::limits::h200;
use crate::operation::{self, Options, Problem};

fn launched(
    ty: Type,
    of: [usize; 3],
    options: &Options,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let plan = operation::plan(&MATMUL, &Problem::new(ty, &of), options, &h200())?;
    Ok(plan.map(|plan| plan.launch))
}

/// The same options with one slice.
fn one(options: Options) -> Options {
    let count = NonZeroU32::new(1);
    Options { count, ..options }
}

#[test]
fn the_grid_covers_the_output_with_columns_along_x() {
    let plan = launched(Type::F32, [33, 15, 16], &Options::default());
    let plan = plan.expect("allowed").expect("there are outputs");
    assert_eq!(plan.kernel, "matmul_tiled_f32");
    assert_eq!(
        (plan.grid, plan.block, plan.dynamic_shared_bytes),
        ([1, 3, 1], [16, 16, 1], 0)
    );
}

#[test]
fn large_products_take_the_tuned_kernels_and_one_that_is_asked_for_is_taken() {
    let planned = |ty, of, options| {
        launched(ty, of, &one(options))
            .expect("allowed")
            .expect("there are outputs")
    };
    let chosen = |ty, of| planned(ty, of, Options::default());
    let large = chosen(Type::F32, [2000, 50, 2000]);
    assert_eq!(large.kernel, "matmul_pipelined_f32");
    assert_eq!((large.grid, large.block), ([128, 1, 1], [256, 1, 1]));
    assert_eq!(large.dynamic_shared_bytes, 4 * 4 * 8 * (132 + 256));
    for (small, kernel) in [
        ([138, 15, 200], "matmul_tiled_f32"),
        ([300, 1, 500], "matmul_naive_f32"),
        ([744, 8, 7992], "matmul_short_f32"),
        ([600, 16, 8000], "matmul_short_deep_f32"),
    ] {
        assert_eq!(chosen(Type::F32, small).kernel, kernel);
    }
    for (of, grid) in [
        // 63 groups of 128 columns and runs of 128 rows; one group of eight packs; runs of half as
        // many rows.
        ([744, 8, 7992], [63, 6, 1]),
        ([20_000, 8, 24], [1, 157, 1]),
        ([1000, 8, 1000], [8, 16, 1]),
        ([1727, 1, 2863], [23, 27, 1]),
    ] {
        let short = chosen(Type::F32, of);
        assert_eq!((short.grid, short.block), (grid, [256, 1, 1]), "{of:?}");
    }
    let doubles = chosen(Type::F64, [1100, 50, 1000]);
    assert_eq!(doubles.kernel, "matmul_mma_square_f64");
    assert_eq!((doubles.grid, doubles.block), ([288, 1, 1], [128, 1, 1]));
    let doubles = chosen(Type::F64, [2048, 51, 2048]);
    assert_eq!(doubles.kernel, "matmul_mma_squareragged_f64");
    assert_eq!((doubles.grid, doubles.block), ([1024, 1, 1], [128, 1, 1]));
    let row = chosen(Type::F64, [1, 200, 1000]);
    assert_eq!(row.kernel, "matmul_thin_f64");
    assert_eq!((row.grid, row.block), ([250, 1, 1], [256, 1, 1]));
    let rows = chosen(Type::F32, [7, 130, 1000]);
    assert_eq!(rows.kernel, "matmul_few_rows_f32");
    assert_eq!((rows.grid, rows.block), ([8, 1, 1], [256, 1, 1]));
    assert_eq!(rows.dynamic_shared_bytes, 64 << 10);
    let column = chosen(Type::F32, [1001, 130, 1]);
    assert_eq!(column.kernel, "matmul_one_col_f32");
    assert_eq!((column.grid, column.block), ([126, 1, 1], [128, 1, 1]));
    let asked = planned(Type::F64, [300, 5, 129], Options::of(&REGISTER_TILE));
    assert_eq!(asked.kernel, "matmul_register_tile_f64");
    assert_eq!((asked.grid, asked.block), ([2, 3, 1], [16, 16, 1]));
}

/// A caller that provides memory gets slices, or a copy of B.
#[test]
fn products_that_fill_no_device_or_are_no_vectors_take_memory() {
    let chosen = |of| {
        let plan = launched(Type::F32, of, &Options::default());
        let plan = plan.expect("allowed").expect("there are outputs");
        (plan.kernel, plan.grid[2])
    };
    assert_eq!(chosen([512; 3]), ("matmul_sliced_flat_f32", 4));
    for of in [[20_000, 1500, 255], [4093, 4099, 4111]] {
        assert_eq!(chosen(of).0, "matmul_sliced_square_f32");
    }
    for (of, kernel) in [
        ([13_125, 694, 131], "matmul_sliced_smallragged_f32"),
        ([1500, 1501, 1502], "matmul_sliced_tallragged_f32"),
    ] {
        assert_eq!(chosen(of).0, kernel);
    }
}

#[test]
fn the_instance_is_the_one_asked_for_or_the_fastest_that_fits() {
    let planned = |tiles: Option<Tiles>, rows, cols| {
        let options = Options {
            instance: tiles.map(|tiles| tiles as u8),
            ..Options::of(&PIPELINED)
        };
        let plan = launched(Type::F32, [rows, 512, cols], &options);
        plan.expect("allowed").expect("outputs")
    };
    let asked = planned(Some(Tiles::Ragged), 300, 128);
    assert_eq!(asked.kernel, "matmul_sliced_tallragged_f32");
    assert_eq!((asked.grid, asked.block), ([6, 1, 1], [128, 1, 1]));
    assert_eq!(asked.dynamic_shared_bytes, 4 * 3 * 16 * (132 + 64));
    for tiles in [None, Some(Tiles::Wide), Some(Tiles::Tall)] {
        let odd = planned(tiles, 4096, 4097);
        assert_eq!(odd.kernel, "matmul_sliced_tallragged_f32");
    }
    // 128, 32 and 133 tiles of 128 x 256 for 132 multiprocessors.
    for (rows, cols, kernel) in [
        (2048, 2048, "matmul_pipelined_f32"),
        (1024, 1024, "matmul_sliced_tall_f32"),
        (128, 133 * 256, "matmul_sliced_tall_f32"),
    ] {
        assert_eq!(planned(None, rows, cols).kernel, kernel, "{rows} x {cols}");
    }
}

#[test]
fn tiles_of_doubles_are_those_asked_for() {
    // Four stages of 16 elements of the inner extent each, six, or eight, of which 98 elements
    // fill seven.
    for (mma, kernel, blocks, threads, stages, stage) in [
        (MmaTiles::Square, "square", 15, 128, 4, 64 * 16 + 16 * 64),
        (MmaTiles::Tall, "tall", 9, 128, 4, 128 * 16 + 16 * 64),
        (MmaTiles::Large, "large", 6, 256, 6, 128 * 16 + 16 * 128),
        (MmaTiles::Small, "small", 50, 128, 7, 32 * 16 + 16 * 32),
        (MmaTiles::Flat, "flat", 30, 128, 7, 32 * 16 + 16 * 64),
        (MmaTiles::Slim, "slim", 25, 128, 7, 64 * 16 + 16 * 32),
    ] {
        let options = Options {
            instance: Some(mma as u8),
            ..Options::of(&MMA)
        };
        let plan = launched(Type::F64, [300, 98, 130], &options);
        let plan = plan.expect("allowed").expect("outputs");
        assert_eq!(plan.kernel, format!("matmul_mma_{kernel}_f64"));
        assert_eq!((plan.grid, plan.block), ([blocks, 1, 1], [threads, 1, 1]));
        assert_eq!(plan.dynamic_shared_bytes, stages * 8 * stage);
    }
    let none = Options {
        instance: Some(6),
        ..Options::of(&MMA)
    };
    assert!(launched(Type::F64, [3; 3], &none).is_err());
    // Three tiles move only pairs: for single elements each has a substitute.
    for (mma, kernel) in [
        (MmaTiles::Large, "tall"),
        (MmaTiles::Flat, "small"),
        (MmaTiles::Slim, "small"),
    ] {
        let options = Options {
            instance: Some(mma as u8),
            ..Options::of(&MMA)
        };
        let plan = launched(Type::F64, [300, 7, 131], &options);
        let plan = plan.expect("allowed").expect("outputs");
        assert_eq!(plan.kernel, format!("matmul_mma_{kernel}ragged_f64"));
    }
}

#[test]
fn extents_of_more_than_30_bits_have_no_tiles_of_doubles() {
    let of = [1 << 31, 2, 6];
    let error = launched(Type::F64, of, &Options::of(&MMA)).expect_err("too many rows");
    assert!(matches!(error, LaunchError::SizeOverflow { .. }), "{error}");
    let plan = launched(Type::F64, of, &Options::default()).expect("allowed");
    let kernel = plan.expect("outputs").kernel;
    assert!(
        !kernel.contains("mma") && !kernel.contains("direct"),
        "{kernel}"
    );
}

#[test]
fn a_kernel_without_the_type_says_which_it_has() {
    let error = launched(Type::F64, [3, 4, 5], &Options::of(&PIPELINED)).expect_err("f32 only");
    assert!(error.to_string().contains("f32"), "{error}");
    let error = launched(Type::I64, [3, 4, 5], &Options::of(&NAIVE)).expect_err("floats only");
    assert!(error.to_string().contains("f32 and f64"), "{error}");
}

#[test]
fn more_rows_than_a_grid_has_blocks_are_strided_over() {
    let plan = launched(Type::F64, [2_000_000, 1, 1], &Options::of(&TILED));
    let plan = plan.expect("allowed").expect("outputs");
    assert_eq!(plan.grid, [1, 65_535, 1]);
}

#[test]
fn no_output_is_no_launch_and_no_inner_extent_is_one() {
    let planned = |of| launched(Type::F32, of, &Options::default()).expect("allowed");
    assert_eq!(planned([0, 3, 4]), None);
    assert_eq!(planned([4, 3, 0]), None);
    assert!(planned([4, 0, 4]).is_some());
}

#[test]
fn a_batch_is_one_launch_with_a_layer_for_each_product() {
    for (ty, batch, of, layers) in [
        (Type::F32, 64, [512; 3], [1, 64]),
        (Type::F32, 70_000, [200, 100, 200], [1, 65_535]),
        (Type::F64, 70_000, [200, 100, 200], [35_000, 2]),
        (Type::F64, 512, [128; 3], [512, 1]),
        (Type::F64, 4096, [32; 3], [4096, 1]),
    ] {
        let side = |[rows, cols]: [usize; 2]| (batch, [rows, cols]);
        let [rows, inner, cols] = of;
        let problem = super::super::batch(ty, side([rows, inner]), side([inner, cols]));
        let problem = problem.expect("it fits");
        let plan = operation::plan(&MATMUL, &problem, &Options::default(), &h200());
        let launch = plan.expect("allowed").expect("outputs").launch;
        assert_eq!(launch.grid[1..], layers, "{launch:?}");
    }
    // More products than a grid has layers.
    let of = (65_535 * 65_536, [1, 0]);
    let problem = super::super::batch(Type::F64, of, (of.0, [0, 1])).expect("it fits");
    assert!(operation::plan(&MATMUL, &problem, &Options::of(&MMA), &h200()).is_err());
    // Small products: several per block.
    for (batch, side, blocks, room) in [
        (4096, 16, 512, (16 << 10) + 32),
        (2000, 48, 2000, (18 << 10) + 32),
    ] {
        let of = (batch, [side; 2]);
        let problem = super::super::batch(Type::F32, of, of).expect("it fits");
        let plan = operation::plan(&MATMUL, &problem, &Options::default(), &h200());
        let launch = plan.expect("allowed").expect("outputs").launch;
        assert_eq!(
            (launch.kernel, launch.grid),
            ("matmul_small_f32", [blocks, 1, 1])
        );
        assert_eq!(launch.dynamic_shared_bytes, room);
    }
    // Few rows or columns: a layer along y for each product, of which a grid has 65,535.
    for (batch, [rows, inner, cols], expected) in [
        (382, [8, 496, 8], ("matmul_few_cols_f32", [1, 382, 1])),
        (2, [8, 5688, 8], ("matmul_few_cols_f32", [4, 2, 5])),
        (8, [8, 2800, 1104], ("matmul_few_rows_f32", [9, 8, 3])),
        (118, [3, 2432, 8], ("matmul_thin_f32", [1, 118, 1])),
        (
            70_000,
            [300, 195, 1],
            ("matmul_sliced_tallragged_f32", [3, 1, 65_535]),
        ),
    ] {
        let sides = [[rows, inner], [inner, cols]].map(|side| (batch, side));
        let problem = super::super::batch(Type::F32, sides[0], sides[1]).expect("it fits");
        let plan = operation::plan(&MATMUL, &problem, &Options::default(), &h200());
        let launch = plan.expect("allowed").expect("outputs").launch;
        assert_eq!((launch.kernel, launch.grid), expected);
        assert!(launch.block[1] == 1, "{launch:?}");
    }
    // Products that share B are one product with all their rows.
    let shared = super::super::batch(Type::F32, (7, [3, 4]), (1, [4, 5]));
    assert_eq!(shared.expect("it fits").extents, [21, 4, 5, 1]);
    let none = super::super::batch(Type::F32, (0, [3, 4]), (1, [4, 5])).expect("it fits");
    let plan = operation::plan(&MATMUL, &none, &Options::default(), &h200());
    assert_eq!(plan.expect("allowed"), None);
}

#[test]
fn shapes_that_do_not_fit_are_told() {
    let error = problem(Type::F32, [2, 3], [4, 5]).expect_err("3 is not 4");
    assert!(
        error.to_string().starts_with("A is 2x3 and B is 4x5: "),
        "{error}"
    );
}

#[test]
fn an_output_too_large_to_count_and_an_empty_grid_are_refused() {
    let error = problem(Type::F32, [1 << 33, 0], [0, 1 << 33]).expect_err("2⁶⁶ outputs");
    assert!(matches!(error, LaunchError::SizeOverflow { .. }));
    let none = Options {
        grid_cap: Some(0),
        ..Options::default()
    };
    assert!(matches!(
        launched(Type::F32, [1; 3], &none),
        Err(LaunchError::ZeroGrid { .. })
    ));
}
