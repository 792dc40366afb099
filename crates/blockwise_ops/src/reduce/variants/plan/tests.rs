//! Plans of reductions.

use super::super::super::{DOT, MAX, MIN, SUM, plan, same_length, sum_error};
use super::super::{INTERLEAVED, KERNELS, SINGLE, TREE, WIDE};
use super::*;
use crate::limits::h200;
use crate::operation::{Operation, Variant};

fn options(kernel: &'static Variant, threads: u32, grid_cap: u32) -> Options {
    Options {
        threads: Some(threads),
        grid_cap: Some(grid_cap),
        ..Options::of(kernel)
    }
}

#[test]
fn the_julia_documents_launch_comes_out() {
    let julia = options(&TREE, 256, 32);
    let len = 33 * 1024;
    let plan = plan::<i64>(&DOT, len, &julia, &h200()).expect("within every limit");
    assert_eq!(plan.kernel, "dot_tree_i64");
    assert_eq!(
        (plan.grid, plan.block, plan.dynamic_shared_bytes),
        ([32, 1, 1], [256, 1, 1], 256 * 8)
    );
}

#[test]
fn shuffles_take_whole_warps_and_no_dynamic_shared_memory() {
    let max = plan::<f32>(&MAX, 1000, &options(&WIDE, 32, 1024), &h200()).expect("allowed");
    assert_eq!(max.kernel, "extreme_wide_f32");
    assert_eq!((max.grid, max.dynamic_shared_bytes), ([2, 1, 1], 0));
    for threads in [1, 31, 33] {
        for kernel in [&WIDE, &SINGLE] {
            let options = options(kernel, threads, 1);
            let error = plan::<f32>(&SUM, 9, &options, &h200()).expect_err("no whole warp");
            assert!(
                matches!(error, LaunchError::NotWholeWarps { warp_size: 32, .. }),
                "{error}"
            );
        }
        let tree = options(&TREE, threads, 1);
        assert!(plan::<f32>(&SUM, 9, &tree, &h200()).is_ok());
        let interleaved = options(&INTERLEAVED, threads, 1);
        let plan = plan::<f32>(&SUM, 9, &interleaved, &h200());
        assert_eq!(plan.expect("allowed").dynamic_shared_bytes, 4 * threads);
    }
}

#[test]
fn the_grid_goes_by_the_length() {
    let shape = |of: &'static Operation, len| {
        let plan = plan::<f32>(of, len, &Options::default(), &h200()).expect("allowed");
        assert!(plan.kernel.contains("_wide_"), "{}", plan.kernel);
        (plan.grid[0], plan.block[0])
    };
    let sum = |len| shape(&SUM, len);
    // Warps of their own, until there are two for each multiprocessor.
    assert_eq!([5, 512, 513].map(sum), [(1, 32), (1, 32), (2, 32)]);
    assert_eq!([264 * 512, 264 * 512 + 1].map(sum), [(264, 32), (133, 64)]);
    assert_eq!(
        [264 * 1024, 264 * 1024 + 1].map(sum),
        [(264, 64), (133, 128)]
    );
    // Four whole rounds of up to eight blocks a multiprocessor.
    assert_eq!(sum(1 << 23), (1024, 128));
    // Above 64 MiB as many blocks as fit, whatever the last round.
    let most_even = 1 << 24;
    assert_eq!(
        [most_even, most_even + 1].map(sum),
        [(1024, 128), (1056, 128)]
    );
    // Operands that no cache holds get as many threads as the device holds; ever more of them keep
    // sums short.
    let most = 264 * 512 * SHARE;
    let large = [1 << 27, most, most + 1, 2 * most + 1];
    assert_eq!(
        large.map(sum),
        [(264, 512), (264, 512), (528, 512), (792, 512)]
    );
    assert_eq!(shape(&MIN, most + 1), (264, 512));
    // The threads of a dot product have half as much in flight.
    let dot = |len| shape(&DOT, len);
    assert_eq!(
        [264 * 256, 264 * 256 + 1, 1 << 27].map(dot),
        [(264, 32), (133, 64), (264, 512)]
    );
}

#[test]
fn longer_arrays_than_32_bits_count_have_another_kernel() {
    let len = LONGEST + 1;
    let wide = |len| plan::<f32>(&SUM, len, &Options::of(&WIDE), &h200());
    assert_eq!(wide(LONGEST).expect("allowed").kernel, "sum_wide_f32");
    let error = wide(len).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "kernel `wide` takes at most 4294967295 elements, 4294967296 given"
    );
    let plan = |options: &Options| plan::<f32>(&SUM, len, options, &h200()).expect("allowed");
    assert_eq!(plan(&Options::default()).kernel, "sum_single_f32");
    // A cap that its blocks cannot have.
    let blocks = |len| {
        let options = options(&WIDE, 32, u32::MAX);
        super::super::super::plan::<f32>(&SUM, len, &options, &h200())
            .expect("allowed")
            .grid[0]
    };
    assert_eq!([1 << 26, LONGEST].map(blocks), [BLOCKS; 2]);
}

#[test]
fn only_sums_are_defined_for_nothing() {
    let plan = |of| plan::<f64>(of, 0, &Options::default(), &h200());
    assert_eq!(plan(&SUM).expect("zero").grid, [1, 1, 1]);
    assert!(matches!(plan(&MIN), Err(LaunchError::EmptyInput { .. })));
    assert!(matches!(plan(&MAX), Err(LaunchError::EmptyInput { .. })));
}

#[test]
fn the_error_follows_from_the_longest_path() {
    const UNIT: f64 = 1.0 / (1_u64 << 24) as f64;
    let error = |kernel, threads, cap, len| {
        let options = options(kernel, threads, cap);
        sum_error::<f32>(&SUM, len, &options, &h200()).expect("a sum")
    };
    let near = |error: f64, units: f64| (error / (units * UNIT) - 1.0).abs() < 1e-5;
    // In f32: a product, five elements per thread, ten levels. The host adds in higher precision.
    assert!(near(error(&TREE, 256, 32, 33 * 1024), 16.0));
    // Also for launches that are refused.
    assert!(near(error(&TREE, 0, 0, 5), 16.0));
}

/// The documented bounds, for any length that a device can hold.
#[test]
fn the_default_launches_keep_paths_short() {
    for len in [
        0,
        1,
        1000,
        1 << 20,
        1 << 24,
        1 << 29,
        1 << 31,
        1 << 33,
        // 192 GB of `f32`.
        48_000_000_001,
    ] {
        for kernel in [None, Some(&WIDE), Some(&SINGLE)] {
            let options = Options {
                kernel,
                ..Options::default()
            };
            for of in [&SUM, &DOT] {
                let error = sum_error::<f32>(of, len, &options, &h200()).expect("a sum");
                assert!(
                    error <= 2.0_f64.powi(-41),
                    "{len} f32, {kernel:?}: {error:e}"
                );
                let error = sum_error::<f64>(of, len, &options, &h200()).expect("a sum");
                assert!(
                    error <= 2.0_f64.powi(-80),
                    "{len} f64, {kernel:?}: {error:e}"
                );
            }
        }
    }
}

#[test]
fn lengths_must_agree() {
    let error = same_length(3, 4).expect_err("3 is not 4");
    assert!(
        error
            .to_string()
            .starts_with("a is 3 elements and b is 4 elements: "),
        "{error}"
    );
}

#[test]
fn limits_are_checked_before_the_launch() {
    for kernel in KERNELS {
        let refused = |threads, cap| {
            plan::<f32>(&SUM, 5, &options(kernel, threads, cap), &h200()).expect_err("refused")
        };
        assert!(matches!(refused(0, 1), LaunchError::ZeroThreads { .. }));
        assert!(matches!(
            refused(1056, 1),
            LaunchError::TooManyThreads { .. }
        ));
        assert!(matches!(refused(32, 0), LaunchError::ZeroGrid { .. }));
    }
}
