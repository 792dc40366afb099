//! Our detectors against compute-sanitizer on an H200: what it found, as recorded, is found here
//! too, and the table in `docs/sanitizers.md` says the truth.

use std::collections::BTreeSet;

use blockwise_tests::hardware::{TOOLS, recording, table};
use blockwise_tests::jobs::{self, Job};
use blockwise_tests::ptx::{files, good};
use blockwise_tests::sampling::Sample;
use ptx_emulator::{CheckOptions, Limits, Module, Tool};
use rayon::prelude::*;

const RECORDING: &str = include_str!("../../fixtures/compute_sanitizer.txt");
const DOCUMENT: &str = include_str!("../../../docs/sanitizers.md");

/// The detectors that find something in the jobs of a kernel, in the emulator's own order of
/// threads and in seven others; or of sound kernels, an eighth of them, in its own: `clean.rs` has all.
fn ours(kernel: &str) -> BTreeSet<Tool> {
    let (files, mut jobs) = match kernel {
        "good" => (good(), jobs::telling()),
        _ => (files("broken_kernels"), jobs::broken()),
    };
    if kernel == "good" {
        let sample = Sample::draw("sound kernels");
        jobs.retain(|job| sample.takes(job.plan.kernel, 8));
    }
    let modules: Vec<_> = (files.iter())
        .map(|file| Module::parse(&file.text).expect("good PTX"))
        .collect();
    let wanted = |job: &&Job| kernel == "good" || job.plan.kernel == kernel;
    let options = CheckOptions {
        schedules: if kernel == "good" { 0 } else { 7 },
        ..CheckOptions::default()
    };
    let tools = |job: &Job| {
        let has = |module: &&Module| module.entries().any(|it| it.name() == job.plan.kernel);
        let module = modules.iter().find(has).expect("a module of the kernel");
        let outcome = job.check(module, &Limits::default(), &options);
        let report = outcome.expect("a launch that is allowed").report;
        report
            .findings
            .into_iter()
            .map(|finding| finding.rule.tool())
    };
    let jobs: Vec<_> = jobs.iter().filter(wanted).collect();
    assert!(!jobs.is_empty(), "no job for {kernel}");
    jobs.into_par_iter().flat_map_iter(tools).collect()
}

#[test]
fn whatever_compute_sanitizer_finds_is_found_here() {
    for line in recording(RECORDING) {
        if line.tool == "plain" || !line.found() {
            continue;
        }
        let mut names = TOOLS.iter().filter(|(name, _)| *name == line.tool);
        let tool = match line.kernel.as_str() {
            // An illegal instruction there; the instruction is a barrier, so here it is synccheck.
            "named_barrier_wrong_count" => Some(Tool::Synccheck),
            _ => names.next().map(|&(_, tool)| tool),
        };
        let ours = ours(&line.kernel);
        assert!(
            tool.is_some_and(|tool| ours.contains(&tool)),
            "{line:?}: {ours:?}"
        );
    }
}

#[test]
fn every_broken_kernel_was_recorded_with_every_tool() {
    let recording = recording(RECORDING);
    let jobs = jobs::broken();
    for kernel in jobs.iter().map(|job| job.plan.kernel).chain(["good"]) {
        for tool in TOOLS.map(|(name, _)| name).into_iter().chain(["plain"]) {
            let found = recording
                .iter()
                .any(|line| line.tool == tool && line.kernel == kernel);
            assert!(found, "{tool}, {kernel}");
        }
    }
}

#[test]
fn the_documented_table_is_the_truth_and_each_difference_is_explained() {
    let (table, differences) = table(&recording(RECORDING), ours);
    assert!(
        DOCUMENT.contains(&table),
        "docs/sanitizers.md must have this table:\n{table}"
    );
    let explained = DOCUMENT.lines().filter_map(|line| {
        let (cell, _) = line.strip_prefix("- **")?.split_once("**: ")?;
        Some(cell.to_owned())
    });
    assert_eq!(explained.collect::<BTreeSet<_>>(), differences);
}
