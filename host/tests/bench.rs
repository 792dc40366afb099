//! The benchmarks' works on the emulator: its times say nothing, its results must be right.

use blockwise::{Device, PtxFile};
use blockwise_cli::bench::{self, BenchError, Commands, Options, Sizes};

#[path = "bench/peers.rs"]
mod peers;

#[path = "cli/command.rs"]
#[allow(dead_code, reason = "this file uses only a part of it")]
mod command;

/// An emulator with subtractions where this kernel adds.
fn mistaken(kernel: &str) -> Device {
    let folder = tempfile::tempdir().expect("a folder");
    let file = PtxFile::read(&command::with_mistake(folder.path(), kernel)).expect("PTX");
    let device = Device::emulator();
    // SAFETY: the kernel reads and writes what it did, only other numbers.
    unsafe { device.replace_kernels("blockwise_kernels", file) };
    device
}

fn given(filter: &[&str], sizes: &[&str]) -> Options {
    let sizes = sizes.iter().map(|size| size.parse().expect("a size"));
    Options {
        filter: filter.iter().map(|&text| text.to_owned()).collect(),
        sizes: Sizes::Given(sizes.collect()),
        seed: 7,
        own: false,
    }
}

#[test]
fn every_rung_of_every_work_is_right_at_odd_sizes() {
    let device = Device::emulator();
    // A single number is also a square and a cube, so the vectors go by themselves.
    let vectors = given(
        &[
            "sum", "min", "max", "mean", "argmin", "argmax", "dot", "reverse",
        ],
        &["5003"],
    );
    let others = given(&[], &["67x35", "1009x7", "33x47x18"]);
    let [vectors, others] = [vectors, others]
        .map(|options| bench::run(&device, &options, &mut [], |_| ()).expect("a report"));
    let rows: Vec<_> = vectors.rows.iter().chain(&others.rows).collect();
    for report in [&vectors, &others] {
        assert!(report.passed(), "{}", report.table());
    }
    for work in [
        "sum/f32/5003",
        "min/f32/5003",
        "mean/f64/5003",
        "argmin/i64/5003",
        "dot/i64/5003",
        "conv-same/f32/1009x7",
        "conv-full/f64/1009x7",
        "transpose/f32/67x35",
        "reverse/f32/5003",
        "matmul/f32/33x47x18",
    ] {
        let timed = |row: &&bench::Row| row.work == work && row.timing.is_some();
        assert!(rows.iter().any(timed), "{work}");
    }
    let untimed: Vec<_> = (rows.iter().filter(|row| row.timing.is_none()))
        .map(|row| row.rung.as_str())
        .collect();
    assert_eq!(untimed, ["tensor"], "the emulator has no tensor cores");
}

#[test]
fn a_kernel_that_computes_something_else_is_told() {
    let device = mistaken("sum_tree_f32");
    let report =
        bench::run(&device, &given(&["sum/f32/"], &["5003"]), &mut [], |_| ()).expect("a report");
    assert!(!report.passed());
    for row in &report.rows {
        assert_eq!(row.passed, row.rung != "tree", "{}", report.table());
    }
    assert!(report.table().contains("WRONG"), "{}", report.table());
}

#[test]
fn a_filter_that_leaves_nothing_is_an_error() {
    let device = Device::emulator();
    let error = bench::run(&device, &given(&["fft"], &["16"]), &mut [], |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::NothingChosen { .. }), "{error}");
    assert!(error.to_string().contains("fft"), "{error}");
}

#[test]
fn without_a_gpu_the_command_says_what_to_do() {
    for name in ["bench", "tune"] {
        let refused = command::Run::of(&mut command::blockwise([name])).ends(2);
        assert!(
            refused.stderr.contains("cargo bench -p ptx_emulator"),
            "{refused:?}"
        );
        let emulated = command::blockwise([name, "--device", "emulator"]);
        let refused = command::Run::of(&mut { emulated }).ends(2);
        assert!(refused.stderr.contains("says nothing"), "{refused:?}");
    }
}

#[test]
fn every_policy_that_is_searched_is_right() {
    let device = Device::emulator();
    // A single number is also a square and a cube, so the vectors go by themselves.
    let vectors = given(&["sum/", "min/", "max/", "dot/"], &["5003"]);
    let others = given(&[], &["150x200", "3001x7", "130x19x140"]);
    // As a matrix it is a large one.
    let many_taps = given(&["conv-"], &["3001x70"]);
    let tunings = [vectors, others, many_taps]
        .map(|options| bench::tune(&device, &options, |_| ()).expect("a report"));
    let findings = || tunings.iter().flat_map(|tuning| &tuning.findings);
    let works: Vec<_> = findings().map(|it| it.work.as_str()).collect();
    for work in [
        "sum/f32/5003",
        "min/f32/5003",
        "max/f32/5003",
        "dot/f32/5003",
        "dot/i64/5003",
        "conv-same/f32/3001x7",
        "conv-same/f32/3001x70",
        "conv-full/f64/3001x7",
        "transpose/f32/150x200",
        "matmul/f32/130x19x140",
    ] {
        assert!(works.contains(&work), "{work}: {works:?}");
    }
    for finding in findings() {
        // Indices have one kernel, whose blocks follow from the shape.
        let has_policies = !finding.work.starts_with("arg");
        assert!(!has_policies || finding.candidates.len() > 3, "{finding:?}");
        assert!(finding.candidates.iter().all(|it| it.passed), "{finding:?}");
    }
    assert!(tunings.iter().all(bench::Tuning::passed));
    let none = given(&["sum/f32/single"], &["5003"]);
    let error = bench::tune(&device, &none, |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::NothingChosen { .. }), "{error}");
}

#[test]
fn a_policy_whose_kernel_is_wrong_is_never_proposed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = command::of_crate(&ladder::KERNELS, folder.path(), "sum_single8_f32");
    let device = Device::emulator();
    let file = PtxFile::read(&file).expect("PTX");
    // SAFETY: as in `mistaken`.
    unsafe { device.replace_kernels(ladder::KERNELS.package, file) };
    let tuning = bench::tune(&device, &given(&["sum/f32/"], &["50003"]), |_| ()).expect("a report");
    let [finding] = &tuning.findings[..] else {
        panic!("{}", tuning.table());
    };
    for candidate in &finding.candidates {
        let eight = candidate.kernel == "single8" || candidate.policy.contains("8 packs");
        assert_eq!(candidate.passed, !eight, "{candidate:?}");
    }
    assert!(finding.best().is_some_and(|best| best.passed));
    assert!(tuning.passed(), "the launcher takes another");
}

#[test]
fn whole_commands_are_timed_beside_cp_and_their_results_are_compared() {
    let rows = |ours: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let commands = Commands {
            ours: ours.iter().map(Into::into).collect(),
            python: None,
            folder: folder.path().to_owned(),
        };
        let mut rows = Vec::new();
        let options = given(&["files/"], &["5003", "70001x31"]);
        bench::files(&options, &commands, |row| rows.push(row));
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "files stay");
        rows
    };
    let program = env!("CARGO_BIN_EXE_blockwise");
    let right = rows(&[program, "--device", "emulator"]);
    let names: Vec<_> = (right.iter())
        .map(|row| (&*row.work, &*row.implementation, &*row.rung, row.passed))
        .collect();
    let mut expected = Vec::new();
    for work in ["files/sum/f32/5003", "files/conv/f32/70001x31"] {
        for by in ["cp", "blockwise"] {
            expected.extend(["first", "again"].map(|rung| (work, by, rung, true)));
        }
    }
    assert_eq!(names, expected, "{right:?}");
    assert!(right.iter().all(|row| row.timing.is_some()), "{right:?}");
    // A kernel that subtracts, and a program that does nothing.
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = command::with_mistake(folder.path(), "sum_wide_f32");
    let ptx = ptx.to_str().expect("a name");
    let sum = &rows(&[program, "--device", "emulator", "--ptx", ptx])[2];
    assert!(!sum.passed && sum.check.starts_with("WRONG"), "{sum:?}");
    let nothing = rows(&["true"]);
    assert!(
        !nothing[2].passed && nothing[2].timing.is_none(),
        "{nothing:?}"
    );
}
