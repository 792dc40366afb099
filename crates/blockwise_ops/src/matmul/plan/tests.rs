//! Plans of matrix products.

use kernels::matmul::mma::MmaTiles;

use super::*;
use crate::limits::h200;

fn shape(rows: usize, inner: usize, cols: usize) -> MatmulShape {
    MatmulShape { rows, inner, cols }
}

#[test]
fn the_grid_covers_the_output_with_columns_along_x() {
    let plan = plan::<f32>(shape(33, 5, 16), &MatmulOptions::default(), &h200());
    let plan = plan.expect("allowed").expect("there are outputs");
    assert_eq!(plan.kernel, "matmul_tiled_f32");
    assert_eq!(
        (plan.grid, plan.block, plan.dynamic_shared_bytes),
        ([1, 3, 1], [16, 16, 1], 0)
    );
}

#[test]
fn large_products_take_the_tuned_kernels_and_one_that_is_asked_for_is_taken() {
    fn planned<T: Float>(shape: MatmulShape, kernel: Option<MatmulKernel>) -> LaunchPlan {
        let options = MatmulOptions {
            kernel,
            ..MatmulOptions::default()
        };
        plan::<T>(shape, &options, &h200())
            .expect("allowed")
            .expect("there are outputs")
    }
    let large = planned::<f32>(shape(2000, 50, 2000), None);
    assert_eq!(large.kernel, "matmul_pipelined_f32");
    assert_eq!((large.grid, large.block), ([128, 1, 1], [256, 1, 1]));
    assert_eq!(large.dynamic_shared_bytes, 4 * 4 * 8 * (132 + 256));
    for (small, kernel) in [
        (shape(138, 15, 200), "matmul_tiled_f32"),
        (shape(500, 1, 500), "matmul_naive_f32"),
        (shape(2499, 6, 4931), "matmul_register_tile_f32"),
    ] {
        assert_eq!(planned::<f32>(small, None).kernel, kernel);
    }
    let doubles = planned::<f64>(shape(1100, 50, 1000), None);
    assert_eq!(doubles.kernel, "matmul_mma_square_f64");
    assert_eq!((doubles.grid, doubles.block), ([288, 1, 1], [128, 1, 1]));
    let doubles = planned::<f64>(shape(2048, 51, 2048), None);
    assert_eq!(doubles.kernel, "matmul_mma_largeragged_f64");
    assert_eq!((doubles.grid, doubles.block), ([256, 1, 1], [256, 1, 1]));
    let vector = planned::<f64>(shape(1, 50, 1000), None);
    assert_eq!(vector.kernel, "matmul_cols_f64");
    assert_eq!((vector.grid, vector.block), ([63, 1, 1], [512, 1, 1]));
    let vector = planned::<f32>(shape(1001, 130, 1), None);
    assert_eq!(vector.kernel, "matmul_rows_ragged_f32");
    assert_eq!((vector.grid, vector.block), ([32, 1, 1], [256, 1, 1]));
    let asked = planned::<f64>(shape(300, 5, 129), Some(MatmulKernel::RegisterTile));
    assert_eq!(asked.kernel, "matmul_register_tile_f64");
    assert_eq!((asked.grid, asked.block), ([2, 3, 1], [16, 16, 1]));
}

#[test]
fn the_instance_is_the_one_asked_for_or_the_fastest_that_fits() {
    let planned = |tiles, rows, cols| {
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            tiles,
            ..MatmulOptions::default()
        };
        let plan = plan::<f32>(shape(rows, 5, cols), &options, &h200());
        plan.expect("allowed").expect("outputs")
    };
    let asked = planned(Some(Tiles::Ragged), 300, 128);
    assert_eq!(asked.kernel, "matmul_pipelined_ragged_f32");
    assert_eq!((asked.grid, asked.block), ([6, 1, 1], [128, 1, 1]));
    assert_eq!(asked.dynamic_shared_bytes, 4 * 3 * 16 * (132 + 64));
    for tiles in [None, Some(Tiles::Wide), Some(Tiles::Tall)] {
        let odd = planned(tiles, 4096, 4097);
        assert_eq!(odd.kernel, "matmul_pipelined_ragged_f32");
    }
    // 128, 118 and 133 tiles for 132 multiprocessors.
    for (rows, cols, kernel) in [
        (2048, 2048, "matmul_pipelined_f32"),
        (128, 118 * 256, "matmul_pipelined_tall_f32"),
        (128, 133 * 256, "matmul_pipelined_tall_f32"),
    ] {
        assert_eq!(planned(None, rows, cols).kernel, kernel, "{rows} x {cols}");
    }
}

#[test]
fn tiles_of_doubles_are_those_asked_for() {
    for (mma, kernel, blocks, threads, stage) in [
        (MmaTiles::Square, "square", 15, 128, 64 * 16 + 16 * 66),
        (MmaTiles::Tall, "tall", 9, 128, 128 * 16 + 16 * 66),
        (MmaTiles::Large, "large", 6, 256, 128 * 16 + 16 * 130),
    ] {
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Mma),
            mma: Some(mma),
            ..MatmulOptions::default()
        };
        let plan = plan::<f64>(shape(300, 6, 130), &options, &h200());
        let plan = plan.expect("allowed").expect("outputs");
        assert_eq!(plan.kernel, format!("matmul_mma_{kernel}_f64"));
        assert_eq!((plan.grid, plan.block), ([blocks, 1, 1], [threads, 1, 1]));
        assert_eq!(plan.dynamic_shared_bytes, 4 * 8 * stage);
    }
}

#[test]
fn a_kernel_without_the_type_says_which_it_has() {
    let options = MatmulOptions {
        kernel: Some(MatmulKernel::Pipelined),
        ..MatmulOptions::default()
    };
    let error = plan::<f64>(shape(3, 4, 5), &options, &h200()).expect_err("f32 only");
    assert!(error.to_string().contains("f32"), "{error}");
}

#[test]
fn more_rows_than_a_grid_has_blocks_are_strided_over() {
    let tall = shape(2_000_000, 1, 1);
    let options = MatmulOptions {
        kernel: Some(MatmulKernel::Tiled),
        ..MatmulOptions::default()
    };
    let plan = plan::<f64>(tall, &options, &h200())
        .expect("allowed")
        .expect("outputs");
    assert_eq!(plan.grid, [1, 65_535, 1]);
}

#[test]
fn no_output_is_no_launch_and_no_inner_extent_is_one() {
    let planned = |shape| plan::<f32>(shape, &MatmulOptions::default(), &h200()).expect("allowed");
    assert_eq!(planned(shape(0, 3, 4)), None);
    assert_eq!(planned(shape(4, 3, 0)), None);
    assert!(planned(shape(4, 0, 4)).is_some());
}

#[test]
fn shapes_that_do_not_fit_are_told() {
    let error = MatmulShape::of((2, 3), (4, 5)).expect_err("3 is not 4");
    assert!(
        error.to_string().starts_with("A is 2x3 and B is 4x5: "),
        "{error}"
    );
}

#[test]
fn an_output_too_large_to_count_and_an_empty_grid_are_refused() {
    let options = MatmulOptions::default();
    let error =
        plan::<f32>(shape(1 << 33, 0, 1 << 33), &options, &h200()).expect_err("2⁶⁶ outputs");
    assert!(matches!(error, LaunchError::SizeOverflow { .. }));
    let none = MatmulOptions {
        grid_cap: Some(0),
        ..options
    };
    assert!(matches!(
        plan::<f32>(shape(1, 1, 1), &none, &h200()),
        Err(LaunchError::ZeroGrid { .. })
    ));
}
