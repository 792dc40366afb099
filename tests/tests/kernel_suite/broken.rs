//! The broken twins without detectors, on the emulator only: on a GPU they write where they must
//! not.

use blockwise::{Buffer, Device, Error, Module};
use blockwise_ops::LaunchPlan;
use blockwise_tests::bench::{Bench, blocks, threads};
use blockwise_tests::data::vector;
use blockwise_tests::ptx::{entries, file, files, load};
use blockwise_tests::{Arguments, jobs};
use broken_kernels::{SLOTS, THREADS, TILE};
use cuda_std::launch::Shape;
use ptx_emulator::{Access, CheckOptions, Fault, FaultKind, LaunchError, Limits, Space};

/// A fresh emulator with the broken kernels.
fn fresh() -> Bench {
    Bench::of("broken_kernels", Device::emulator())
}

fn upload(bench: &Bench, len: usize) -> Buffer<f32> {
    let values = vector::<f32>(len as u64, len).to_vec();
    bench.device.upload(&values).expect("memory")
}

/// Launches a convolution as the tiled kernel is launched, mode same.
fn convolve(kernel: &str, samples: usize, taps: usize) -> blockwise::Result<()> {
    let bench = fresh();
    let (signal, taps) = (upload(&bench, samples), upload(&bench, taps));
    let mut output = bench.poisoned::<f32>(samples);
    let offset = (taps.len() - 1) / 2;
    let shared = (THREADS as usize + taps.len() - 1) * size_of::<f32>();
    let arguments = Arguments::new()
        .slice(&signal)
        .slice(&taps)
        .pointer(&mut output)
        .value(samples as u64)
        .value(offset as u64);
    let shape = blocks(samples.div_ceil(THREADS as usize) as u32, THREADS);
    bench.launch(kernel, shape.shared(shared as u32), &arguments)
}

/// The fault in an error; its text names the kernel and the line of `source` that contains
/// `statement`.
#[track_caller]
fn fault(error: Error, kernel: &str, source: &str, statement: &str) -> Fault {
    let text = error.to_string();
    let line = 1 + source
        .lines()
        .position(|line| line.contains(statement))
        .unwrap_or_else(|| panic!("`{statement}` is not in the source"));
    let place = format!("{kernel}.rs:{line}");
    assert!(text.contains(&format!("`{kernel}`")), "{text}");
    assert!(text.contains(&place), "no `{place}` in: {text}");
    match error {
        Error::EmulatorLaunch(LaunchError::Fault(fault)) => *fault,
        other => panic!("not a fault of the kernel: {other:?}"),
    }
}

#[test]
fn a_shared_array_shorter_than_the_block_is_written_out_of_bounds() {
    let bench = fresh();
    let input = bench.device.upload(&[7_u32; 256]).expect("memory");
    let mut output = bench.device.zeros::<u32>(256).expect("memory");
    let arguments = Arguments::new().slice(&input).pointer(&mut output);
    let kernel = "reverse_shared_too_small";
    let error = bench
        .launch(kernel, threads(THREADS), &arguments)
        .expect_err("half of the threads have no slot");
    let source = include_str!("../../../broken_kernels/src/reverse_shared_too_small.rs");
    let fault = fault(error, kernel, source, ".write(*input.get_unchecked(");
    assert_eq!(fault.thread, [SLOTS, 0, 0]);
    let FaultKind::OutOfBounds {
        space: Space::Shared,
        access: Access::Write,
        size: 4,
        ..
    } = fault.kind
    else {
        panic!("{fault}");
    };
}

#[test]
fn one_halo_element_too_many_is_written_out_of_bounds() {
    let kernel = "conv1d_halo_off_by_one";
    let error = convolve(kernel, 1000, 9).expect_err("a slot too many");
    let source = include_str!("../../../broken_kernels/src/conv1d_halo_off_by_one.rs");
    let fault = fault(error, kernel, source, "tile.add(slot).write(sample)");
    // Slot 264 belongs to the thread that loads 8 and 264.
    assert_eq!(fault.thread, [8, 0, 0]);
    let FaultKind::OutOfBounds {
        space: Space::Shared,
        access: Access::Write,
        address,
        ..
    } = fault.kind
    else {
        panic!("{fault}");
    };
    assert_eq!(address % (264 * 4), 0, "{address}");
}

#[test]
fn an_early_return_leaves_the_barrier_divergent() {
    let source = include_str!("../../../broken_kernels/src/conv1d_early_return.rs");
    let kernel = "conv1d_early_return";
    // The Numba document's two cases: the last block has 232 and 44 of 256 threads.
    for (samples, taps, block) in [(1000, 9, 3), (300, 65, 1)] {
        let error =
            convolve(kernel, samples, taps).expect_err("a barrier that not all threads reach");
        let fault = fault(error, kernel, source, "thread::sync_threads()");
        assert_eq!(fault.block, [block, 0, 0]);
        assert!(
            matches!(fault.kind, FaultKind::DivergentBarrier { .. }),
            "{fault}"
        );
    }
}

#[test]
fn an_early_return_is_right_when_the_blocks_are_full() {
    convolve("conv1d_early_return", 1024, 9).expect("nobody returns early");
}

#[test]
fn an_uncovered_grid_leaves_elements_that_nobody_wrote() {
    let bench = fresh();
    let (rows, inner, cols) = (40, 5, 50);
    let (a, b) = (upload(&bench, rows * inner), upload(&bench, inner * cols));
    let launched = |kernel: &'static str, module: &Module, grid: [u32; 2]| {
        let mut c = bench.poisoned::<f32>(rows * cols);
        let sizes = [rows, inner, cols].map(|size| size as u64);
        let arguments = Arguments::new().slice(&a).slice(&b).pointer(&mut c);
        let arguments = sizes.into_iter().fold(arguments, Arguments::value);
        let plan = LaunchPlan {
            kernel,
            grid: [grid[0], grid[1], 1],
            block: [TILE, TILE, 1],
            dynamic_shared_bytes: 0,
        };
        // SAFETY: this is the emulator: it checks every access.
        unsafe { arguments.launch(module, kernel, plan.shape()) }
            .unwrap_or_else(|error| panic!("{error}"));
        c.to_vec().expect("a copy")
    };
    let unwritten = |kernel: &'static str, module: &Module, grid: [u32; 2]| {
        let c = launched(kernel, module, grid);
        let poisoned = |at: &usize| c[*at].to_bits() == u32::MAX;
        (0..c.len()).filter(poisoned).collect::<Vec<_>>()
    };
    let floor = [cols as u32 / TILE, rows as u32 / TILE];
    let ceil = [(cols as u32).div_ceil(TILE), (rows as u32).div_ceil(TILE)];
    let missing = unwritten("matmul_uncovered_grid", &bench.module, floor);
    assert_eq!(missing.len(), rows * cols - 32 * 48);
    assert_eq!(missing[0], 48, "the first is row 0, column 48");
    assert_eq!(
        unwritten("matmul_uncovered_grid", &bench.module, ceil),
        [0; 0]
    );
    let jobs = jobs::broken();
    let job = jobs
        .iter()
        .find(|job| job.plan.kernel == "matmul_uncovered_grid");
    let text = &files("broken_kernels")[0].text;
    let module = ptx_emulator::Module::parse(text).expect("good PTX");
    let outcome = job
        .expect("a job")
        .check(&module, &Limits::default(), &CheckOptions::default());
    let report = outcome.expect("a launch").report;
    assert!(report.is_clean(), "it is no error");
    let finding = &report.findings[0];
    assert_eq!(
        finding.message,
        "no thread wrote 464 of 2000 elements of output `c`: 48 to 49, 98 to 99, 148 to 149 and 29 further ranges"
    );
    let place = finding.site.place.source.as_ref().expect("a line");
    assert!(
        place
            .file
            .ends_with("broken_kernels/src/matmul_uncovered_grid.rs"),
        "{place}"
    );

    let sound = load(&file("kernels", (9, 0)), &bench.device).expect("good PTX");
    assert_eq!(unwritten("matmul_tiled_raw_f32", &sound, floor), [0; 0]);
}

/// What is wrong with them can be counted: the barriers that their sound twins have.
#[test]
fn the_racy_twins_lack_a_barrier_that_the_sound_ones_have() {
    let barriers = |stem: &str, kernel: &str| {
        let entries = entries(&files(stem)[0].text);
        let entry = entries.iter().find(|entry| entry.name == kernel);
        entry
            .unwrap_or_else(|| panic!("no {kernel}"))
            .count("bar.sync")
    };
    for (sound, broken, in_sound, in_broken) in [
        ("matmul_tiled_f32", "matmul_missing_barrier", 2, 1),
        ("dot_tree_f32", "dot_missing_barrier", 1, 0),
        ("reverse_static_raw_u32", "reverse_missing_barrier", 2, 0),
    ] {
        assert_eq!(barriers("kernels", sound), in_sound, "{sound}");
        assert_eq!(barriers("broken_kernels", broken), in_broken, "{broken}");
    }
}

/// Nothing but their order is wrong: no access is out of bounds, so a launch without detectors lets
/// them run.
#[test]
fn the_racy_twins_run_without_a_fault() {
    let bench = fresh();
    let (a, b) = (upload(&bench, 40 * 40), upload(&bench, 40 * 40));
    let mut c = bench.poisoned::<f32>(40 * 40);
    let arguments = Arguments::new().slice(&a).slice(&b).pointer(&mut c);
    let arguments = [40_u64; 3].into_iter().fold(arguments, Arguments::value);
    let run = bench.launch(
        "matmul_missing_barrier",
        Shape::new((3, 3), (TILE, TILE)),
        &arguments,
    );
    run.unwrap_or_else(|error| panic!("{error}"));

    let arguments = Arguments::new().slice(&a).slice(&b).pointer(&mut c);
    let run = bench.launch(
        "dot_missing_barrier",
        blocks(3, THREADS).shared(THREADS * 4),
        &arguments,
    );
    run.unwrap_or_else(|error| panic!("{error}"));

    let arguments = Arguments::new().slice(&a).pointer(&mut c);
    let run = bench.launch("reverse_missing_barrier", blocks(7, THREADS), &arguments);
    run.unwrap_or_else(|error| panic!("{error}"));
}
