//! The benchmarks' works on the emulator: its times say nothing, its results must be right.

use std::path::Path;

use blockwise::bench::{self, BenchError, Options, Sizes};
use blockwise::device::{Device, EmulatorLimits, PtxSource};

#[path = "cli/command.rs"]
#[allow(dead_code, reason = "this file uses only a part of it")]
mod command;

fn emulator(source: &PtxSource) -> Device {
    let mut device = Device::emulator(EmulatorLimits::default());
    device.load_kernels(source).expect("the kernels load");
    device
}

fn given(filter: &[&str], sizes: &[&str]) -> Options {
    let sizes = sizes.iter().map(|size| size.parse().expect("a size"));
    Options {
        filter: filter.iter().map(|&text| text.to_owned()).collect(),
        sizes: Sizes::Given(sizes.collect()),
        seed: 7,
    }
}

#[test]
fn every_rung_of_every_work_is_right_at_odd_sizes() {
    let device = emulator(&PtxSource::at(Path::new(&command::ptx_folder())));
    // A single number is also a square and a cube, so the vectors go by themselves.
    let vectors = given(&["sum", "min", "max", "dot", "reverse"], &["5003"]);
    let others = given(&[], &["67x35", "1009x7", "33x47x18"]);
    let [vectors, others] =
        [vectors, others].map(|options| bench::run(&device, &options).expect("a report"));
    let rows: Vec<_> = vectors.rows.iter().chain(&others.rows).collect();
    for report in [&vectors, &others] {
        assert!(report.passed(), "{}", report.table());
    }
    for work in [
        "sum/f32/5003",
        "min/f32/5003",
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
}

#[test]
fn a_kernel_that_computes_something_else_is_told() {
    let file = command::ptx_folder().join("kernels.sm_80.ptx");
    let ptx = std::fs::read_to_string(file).expect("the kernels were built");
    let (before, kernel) = ptx.split_at(ptx.find(".entry sum_tree_f32(").expect("the kernel"));
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("kernels.sm_80.ptx");
    let mutant = kernel.replacen("\tadd.f32", "\tsub.f32", 1);
    assert_ne!(mutant, kernel, "the kernel adds");
    std::fs::write(&broken, [before, &mutant].concat()).unwrap();

    let device = emulator(&PtxSource::at(&broken));
    let report = bench::run(&device, &given(&["sum/f32/"], &["5003"])).expect("a report");
    assert!(!report.passed());
    for row in &report.rows {
        assert_eq!(row.passed, row.rung != "tree", "{}", report.table());
    }
    assert!(report.table().contains("WRONG"), "{}", report.table());
}

#[test]
fn a_filter_that_leaves_nothing_is_an_error() {
    let device = Device::emulator(EmulatorLimits::default());
    let error = bench::run(&device, &given(&["fft"], &["16"])).unwrap_err();
    assert!(matches!(error, BenchError::NothingChosen { .. }), "{error}");
    assert!(error.to_string().contains("fft"), "{error}");
}
