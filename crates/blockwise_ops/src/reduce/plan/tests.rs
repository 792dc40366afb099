//! Plans of reductions.

use super::*;
use crate::limits::h200;

fn options(kernel: ReduceKernel, threads: u32, grid_cap: u32) -> ReduceOptions {
    ReduceOptions {
        kernel: Some(kernel),
        threads: Some(threads),
        grid_cap: Some(grid_cap),
        in_flight: None,
    }
}

#[test]
fn the_julia_documents_launch_comes_out() {
    let julia = options(ReduceKernel::Tree, 256, 32);
    let len = 33 * 1024;
    let plan = plan_dot::<i64>(len, len, &julia, &h200()).expect("within every limit");
    assert_eq!(plan.kernel, "dot_tree_i64");
    assert_eq!(
        (plan.grid, plan.block, plan.dynamic_shared_bytes),
        ([32, 1, 1], [256, 1, 1], 256 * 8)
    );
}

#[test]
fn shuffles_take_whole_warps_and_no_dynamic_shared_memory() {
    let plan = plan_reduce::<f32>(
        1000,
        Reduction::Max,
        &options(ReduceKernel::Shuffle, 256, 1024),
        &h200(),
    )
    .expect("allowed");
    assert_eq!(plan.kernel, "max_shuffle_f32");
    assert_eq!((plan.grid, plan.dynamic_shared_bytes), ([4, 1, 1], 0));
    for threads in [1, 31, 33] {
        for kernel in [
            ReduceKernel::Shuffle,
            ReduceKernel::Wide,
            ReduceKernel::Single,
        ] {
            let options = options(kernel, threads, 1);
            let error = plan_reduce::<f32>(9, Reduction::Sum, &options, &h200())
                .expect_err("no whole warp");
            assert!(
                matches!(error, LaunchError::NotWholeWarps { warp_size: 32, .. }),
                "{error}"
            );
        }
        let tree = options(ReduceKernel::Tree, threads, 1);
        assert!(plan_reduce::<f32>(9, Reduction::Sum, &tree, &h200()).is_ok());
        let interleaved = options(ReduceKernel::Interleaved, threads, 1);
        let plan = plan_reduce::<f32>(9, Reduction::Sum, &interleaved, &h200());
        assert_eq!(plan.expect("allowed").dynamic_shared_bytes, 4 * threads);
    }
}

#[test]
fn large_operands_get_as_many_threads_as_the_device_holds() {
    let planned = |len| {
        let options = ReduceOptions::default();
        plan_reduce::<f32>(len, Reduction::Sum, &options, &h200()).expect("allowed")
    };
    let large = planned(1 << 29);
    assert_eq!(large.kernel, "sum_single_f32");
    assert_eq!((large.grid, large.block), ([264, 1, 1], [1024, 1, 1]));
    let medium = planned(1 << 23);
    assert_eq!(medium.kernel, "sum_wide_f32");
    assert_eq!((medium.grid, medium.block), ([264, 1, 1], [1024, 1, 1]));
    let small = planned(1 << 17);
    assert_eq!(small.kernel, "sum_shuffle_f32");
    assert_eq!((small.grid, small.block), ([512, 1, 1], [256, 1, 1]));
    assert_eq!(planned(5).grid, [1, 1, 1]);
}

#[test]
fn only_sums_are_defined_for_nothing() {
    let plan = |reduction| plan_reduce::<f64>(0, reduction, &ReduceOptions::default(), &h200());
    assert_eq!(plan(Reduction::Sum).expect("zero").grid, [1, 1, 1]);
    assert!(matches!(
        plan(Reduction::Min),
        Err(LaunchError::EmptyInput { .. })
    ));
    assert!(matches!(
        plan(Reduction::Max),
        Err(LaunchError::EmptyInput { .. })
    ));
}

#[test]
fn roundings_are_counted_for_refused_launches_too() {
    assert_eq!(
        options(ReduceKernel::Tree, 256, 32).roundings(33 * 1024, &h200()),
        1 + 5 + 10 + 32
    );
    assert_eq!(
        options(ReduceKernel::Tree, 0, 0).roundings(5, &h200()),
        1 + 5 + 10 + 1
    );
    assert_eq!(
        options(ReduceKernel::Shuffle, 256, 32).roundings(33 * 1024, &h200()),
        1 + 5 + 36 + 32
    );
}

#[test]
fn lengths_must_agree() {
    let error = plan_dot::<f32>(3, 4, &ReduceOptions::default(), &h200()).expect_err("3 is not 4");
    assert!(
        error
            .to_string()
            .starts_with("a is 3 elements and b is 4 elements: "),
        "{error}"
    );
}

#[test]
fn limits_are_checked_before_the_launch() {
    for kernel in ReduceKernel::ALL {
        let refused = |threads, cap| {
            plan_reduce::<i64>(5, Reduction::Sum, &options(*kernel, threads, cap), &h200())
                .expect_err("refused")
        };
        assert!(matches!(refused(0, 1), LaunchError::ZeroThreads { .. }));
        assert!(matches!(
            refused(1056, 1),
            LaunchError::TooManyThreads { .. }
        ));
        assert!(matches!(refused(32, 0), LaunchError::ZeroGrid { .. }));
    }
}
