//! Plans of convolutions.

use std::num::NonZeroU32;

use blockwise::DeviceProperties;

use super::*;
use crate::limits::h200;
use crate::operation::{self, Options};
use crate::{Float, LaunchPlan};

#[track_caller]
fn planned<T: Float>(signal: usize, taps: usize, mode: ConvMode, options: &Options) -> LaunchPlan {
    plan::<T>(signal, taps, mode, options, &h200())
        .expect("within every limit")
        .launch
}

#[track_caller]
fn refused<T: Float>(signal: usize, taps: usize, mode: ConvMode, options: &Options) -> LaunchError {
    plan::<T>(signal, taps, mode, options, &h200()).expect_err("to be refused")
}

#[test]
fn the_documents_launches_come_out() {
    let matlab = planned::<f64>(10_000, 10, ConvMode::Full, &Options::of(&BLOCK_PER_OUTPUT));
    assert_eq!(matlab.kernel, "conv1d_block_per_output_f64");
    assert_eq!(
        (matlab.grid, matlab.block, matlab.dynamic_shared_bytes),
        ([10_009, 1, 1], [10, 1, 1], 80)
    );

    let numba = planned::<f32>(1000, 9, ConvMode::Same, &Options::default());
    assert_eq!(numba.kernel, "conv1d_tiled_f32");
    assert_eq!((numba.grid, numba.block), ([4, 1, 1], [256, 1, 1]));
    assert_eq!(numba.dynamic_shared_bytes, (256 + 9 - 1) * 4);
}

#[test]
fn modes_have_numpys_lengths_and_the_shorter_operand_plays_the_taps() {
    let shape = |signal, taps, mode| {
        let problem = problem(Type::F32, [signal, taps], mode).expect("no overflow");
        let [.., offset, outputs] = problem.extents;
        (outputs, offset)
    };
    assert_eq!(shape(7, 4, ConvMode::Full), (10, 0));
    assert_eq!(shape(7, 4, ConvMode::Same), (7, 1));
    assert_eq!(shape(7, 4, ConvMode::Valid), (4, 3));
    assert_eq!(shape(4, 7, ConvMode::Full), (10, 0));
    assert_eq!(shape(4, 7, ConvMode::Same), (7, 1));
    assert_eq!(shape(4, 7, ConvMode::Valid), (4, 3));
    assert_eq!(shape(1, 1, ConvMode::Valid), (1, 0));
}

#[test]
fn many_outputs_go_to_the_kernels_in_registers() {
    let large = 1 << 18;
    let of = |samples, taps, options: Options| {
        let plan = planned::<f32>(samples, taps, ConvMode::Same, &options);
        (plan.kernel, plan.grid[0], plan.block[0])
    };
    let standard = Options::default();
    let few = of(large / 4, 9, standard);
    assert_eq!(few, ("conv1d_tiled_f32", 256, 256));
    // 410 tiles of 640 outputs, for 4 warps with one tile each; of the 104,858 tiles ten warps take
    // 10, 18, 27, 40 or 100.
    let window = |blocks| ("conv1d_window_f32", blocks, 128);
    assert_eq!(of(large, 17, standard), window(103));
    assert_eq!(of(1 << 22, 48, standard), window(660));
    assert_eq!(of(1 << 26, 10, standard), window(26_215));
    assert_eq!(of(1 << 26, 20, standard), window(14_564));
    assert_eq!(of(1 << 26, 32, standard), window(9710));
    assert_eq!(of(1 << 26, 40, standard), window(6554));
    assert_eq!(of(1 << 26, 64, standard), window(2622));
    // Tiles of 2,560 outputs.
    let blocked = of(large, 65, standard);
    assert_eq!(blocked, ("conv1d_blocked_f32", 103, 128));
    let capped = Options {
        grid_cap: Some(3),
        ..standard
    };
    assert_eq!(of(large, 65, capped).1, 3);
    let tiles = |each| Options {
        count: NonZeroU32::new(each),
        ..standard
    };
    assert_eq!(of(1 << 26, 17, tiles(1)), window(26_215));
    assert_eq!(of(1 << 26, 17, tiles(8)), window(3277));
    assert_eq!(of(large, 65, tiles(2)).1, 52);
    let threads = Options {
        threads: Some(64),
        ..standard
    };
    assert_eq!(of(large, 9, threads).0, "conv1d_tiled_f32");

    let error = refused::<f32>(99, 65, ConvMode::Same, &Options::of(&WINDOW));
    let expected = LaunchError::TooManyTaps {
        kernel: "window",
        taps: 65,
        limit: 64,
    };
    assert_eq!(error.to_string(), expected.to_string());
    for kernel in [&WINDOW, &BLOCKED] {
        let options = Options {
            threads: Some(64),
            ..Options::of(kernel)
        };
        let error = refused::<f32>(99, 9, ConvMode::Same, &options);
        assert!(
            matches!(error, LaunchError::FixedBlock { needed: 128, .. }),
            "{error}"
        );
    }
}

#[test]
fn tiled_is_taken_as_long_as_it_fits() {
    let kernel_for = |taps| {
        let plan = planned::<f32>(60_000, taps, ConvMode::Same, &Options::default());
        plan.kernel
    };
    // 227 KiB of f32, less the 255 elements that a block of 256 needs besides the taps.
    let most = 227 * 1024 / 4 - 255;
    assert_eq!(kernel_for(most), "conv1d_tiled_f32");
    assert_eq!(kernel_for(most + 1), "conv1d_direct_f32");

    let error = refused::<f32>(1 << 20, most + 1, ConvMode::Same, &Options::of(&TILED));
    assert!(
        matches!(
            error,
            LaunchError::SharedMemory {
                needed: 232_452,
                limit: 232_448,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("direct")));
}

#[test]
fn without_opting_in_the_numba_documents_limit_holds() {
    let old = DeviceProperties {
        shared_bytes_opt_in: 49_152,
        ..h200()
    };
    let tiled = |taps| plan::<f32>(1 << 20, taps, ConvMode::Same, &Options::of(&TILED), &old);
    assert_eq!(
        tiled(12_033)
            .expect("it just fits")
            .launch
            .dynamic_shared_bytes,
        49_152
    );
    assert!(matches!(
        tiled(12_034),
        Err(LaunchError::SharedMemory { needed: 49_156, .. })
    ));
}

#[test]
fn one_thread_per_tap_has_limits_of_its_own() {
    let options = Options::of(&BLOCK_PER_OUTPUT);
    assert_eq!(
        planned::<f64>(5000, 1024, ConvMode::Full, &options).block,
        [1024, 1, 1]
    );
    let error = refused::<f64>(5000, 1025, ConvMode::Full, &options);
    assert!(matches!(
        error,
        LaunchError::TooManyTaps {
            taps: 1025,
            limit: 1024,
            ..
        }
    ));
    assert!(error.hint().is_some_and(|hint| hint.contains("tiled")));
    // The shorter operand serves as the taps, so this one is fine.
    assert_eq!(
        planned::<f64>(3, 5000, ConvMode::Full, &options).block,
        [3, 1, 1]
    );

    assert!(matches!(
        refused::<f32>(9, 3, ConvMode::Full, &options),
        LaunchError::UnsupportedType { .. }
    ));
    assert!(matches!(
        refused::<f64>(9, 3, ConvMode::Same, &options),
        LaunchError::UnsupportedMode { .. }
    ));
    let threads = Options {
        threads: Some(64),
        ..options
    };
    assert!(matches!(
        refused::<f64>(9, 3, ConvMode::Full, &threads),
        LaunchError::FixedBlock { needed: 3, .. }
    ));
}

#[test]
fn empty_operands_and_overflowing_sizes_are_refused() {
    let options = Options::default();
    for mode in ConvMode::ALL {
        assert!(matches!(
            refused::<f32>(0, 3, *mode, &options),
            LaunchError::EmptyInput { .. }
        ));
        assert!(matches!(
            refused::<f32>(3, 0, *mode, &options),
            LaunchError::EmptyInput { .. }
        ));
    }
    assert!(matches!(
        refused::<f32>(usize::MAX, 2, ConvMode::Full, &options),
        LaunchError::SizeOverflow { .. }
    ));
    let tiled = Options::of(&TILED);
    let error = refused::<f32>(usize::MAX, usize::MAX, ConvMode::Valid, &tiled);
    assert!(matches!(error, LaunchError::SizeOverflow { .. }), "{error}");
}

#[test]
fn threads_and_grid_are_as_asked_for_or_refused() {
    let asked = |threads, grid_cap| Options {
        threads: Some(threads),
        grid_cap: Some(grid_cap),
        ..Options::default()
    };
    let plan = planned::<f64>(1000, 5, ConvMode::Same, &asked(33, 7));
    assert_eq!(
        (plan.grid, plan.block, plan.dynamic_shared_bytes),
        ([7, 1, 1], [33, 1, 1], (33 + 4) * 8)
    );
    assert!(matches!(
        refused::<f64>(9, 3, ConvMode::Full, &asked(0, 1)),
        LaunchError::ZeroThreads { .. }
    ));
    assert!(matches!(
        refused::<f64>(9, 3, ConvMode::Full, &asked(1025, 1)),
        LaunchError::TooManyThreads { .. }
    ));
    assert!(matches!(
        refused::<f64>(9, 3, ConvMode::Full, &asked(32, 0)),
        LaunchError::ZeroGrid { .. }
    ));
}

/// Every part has the samples that it needs, never too few of them for the operands to change
/// their parts, and outputs of its own.
#[test]
fn a_part_is_a_convolution_of_fewer_samples() {
    for lengths in [[160, 1], [160, 5], [160, 160], [5, 160], [159, 160], [1, 2]] {
        for &mode in ConvMode::ALL {
            let whole = problem(Type::F32, lengths, mode).expect("no overflow");
            let [samples, taps, offset, all] = whole.extents;
            let (long, short) = (samples.max(taps), samples.min(taps));
            for (start, len) in [(0, all), (0, 1), (all - 1, 1), (all / 3, all - all / 3)] {
                let Part { problem, inputs } = part(&whole, start..start + len);
                let [n, m, first, outputs] = problem.extents;
                let ranges = inputs.clone().map(|range| range.len());
                assert_eq!(([n, m], outputs), (ranges, len), "{whole:?}");
                assert_eq!(m > n, taps > samples, "{whole:?}");
                let window = if m > n { &inputs[1] } else { &inputs[0] };
                assert_eq!(window.start + first, offset + start, "{whole:?}");
                let newest = offset + start + len - 1;
                assert!(window.start <= (offset + start + 1).saturating_sub(short));
                assert!(window.end > newest.min(long - 1) && window.end <= long);
            }
            assert_eq!(part(&whole, 0..all).problem, whole);
            assert!(is_whole(&whole));
            // With one tap, or in other modes, it may be the whole of fewer samples.
            let first = part(&whole, 0..1).problem;
            assert!(mode != ConvMode::Full || short == 1 || !is_whole(&first));
        }
    }
}

#[test]
fn parts_go_by_the_kernel_of_the_whole_or_one_that_adds_alike() {
    let whole = problem(Type::F64, [306, 240], ConvMode::Full).expect("no overflow");
    let in_parts = |options: &Options| {
        let options = operation::in_parts(&CONV, &whole, options, &h200());
        options.expect("of this operation").and_then(|it| it.kernel)
    };
    let chosen = operation::choose(&CONV, &whole, &Options::default(), &h200());
    assert_eq!(chosen.expect("a kernel").variant, &BLOCK_PER_OUTPUT);
    assert_eq!(in_parts(&Options::default()), Some(&TILED));
    assert_eq!(in_parts(&Options::of(&BLOCK_PER_OUTPUT)), None);
    assert_eq!(in_parts(&Options::of(&FFT4096)), Some(&FFT4096));
    let part = part(&whole, 0..9).problem;
    let refused = operation::plan(&CONV, &part, &Options::of(&BLOCK_PER_OUTPUT), &h200());
    let error = refused.expect_err("it computes no parts").to_string();
    assert!(error.contains("computes all outputs at once"), "{error}");
}
