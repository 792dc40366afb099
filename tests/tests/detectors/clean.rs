//! The detectors report nothing about a good kernel. Each run draws an eighth of the launches of
//! all sizes and runs them in the emulator's own order. It also draws half of the telling launches
//! and runs them in that order and at least one other. `cargo xtask test --all` runs every launch,
//! the telling ones in 64 orders. `cargo xtask check --sizes all --schedules 63` runs all sizes in
//! 64 orders.

use std::collections::BTreeSet;

use blockwise_ops::OPERATIONS;
use blockwise_tests::jobs::Job;
use blockwise_tests::ptx::{entries, good};
use blockwise_tests::sampling::Sample;
use blockwise_tests::{alarms, jobs, wanted_families, whole_sweeps};
use ptx_emulator::{CheckOptions, Limits, Module, Rule};
use rayon::prelude::*;

#[test]
fn every_good_kernel_has_jobs() {
    let files = good();
    let entries: Vec<_> = files.iter().flat_map(|file| entries(&file.text)).collect();
    let kernels: BTreeSet<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    for jobs in [jobs::telling(), jobs::size_matrix()] {
        let covered: BTreeSet<_> = jobs.iter().map(|job| job.plan.kernel).collect();
        assert_eq!(kernels, covered);
    }
}

/// A job that is made from a description is the variant's last launch. The kernels of a variant's
/// other launches need jobs of their own.
#[test]
fn every_kernel_of_a_description_has_a_job() {
    let covered: BTreeSet<_> = jobs::telling().iter().map(|job| job.plan.kernel).collect();
    let variants = OPERATIONS.iter().flat_map(|of| ladder::variants(of));
    for kernel in variants.flat_map(|variant| variant.kernels) {
        let name = kernel.entry.name;
        // `matmul_tensor_f32` is only in PTX for sm_90a, which an emulator never chooses.
        assert!(
            covered.contains(name) || name == "matmul_tensor_f32",
            "{name}"
        );
    }
}

#[test]
fn nothing_is_reported_about_good_kernels_of_any_size() {
    let jobs = drawn(jobs::wanted_sizes(), "launches of all sizes", 8);
    for file in good() {
        assert_eq!(alarms::all(&file.text, &jobs, 0, 0), [""; 0]);
    }
}

/// One launch in N, drawn; every launch with `cargo xtask test --all`.
fn drawn(mut jobs: Vec<Job>, what: &str, n: u64) -> Vec<Job> {
    let sample = Sample::draw(what);
    jobs.retain(|job| sample.takes((job.plan.kernel, job.case.to_string()), n));
    jobs
}

/// Each kernel's first telling launch. Of these tests, `cargo xtask test --changed` runs only this
/// one for a change of the emulator.
#[test]
fn one_launch_of_each_kernel_is_clean() {
    let mut seen = BTreeSet::new();
    let mut jobs = jobs::telling();
    jobs.retain(|job| seen.insert(job.plan.kernel));
    for file in good() {
        assert_eq!(alarms::all(&file.text, &jobs, 0, 0), [""; 0]);
    }
}

#[test]
fn nothing_is_reported_about_good_kernels_in_any_schedule() {
    let schedules = if whole_sweeps() { 63 } else { 1 };
    let orders = Sample::draw("orders of the threads");
    let mut jobs = jobs::wanted_telling();
    // With `cargo xtask test --changed`, all telling launches of the changed families run.
    if wanted_families().is_none() {
        jobs = drawn(jobs, "telling launches", 2);
    }
    for file in good() {
        let alarms = alarms::all(&file.text, &jobs, schedules, orders.seed);
        assert_eq!(alarms, [""; 0]);
    }
}

/// Outputs are not filled here, so that an element that no thread writes is reported as
/// `UnwrittenOutput`. Other findings are ignored: some kernels read their output's old values.
#[test]
fn good_kernels_leave_no_element_of_a_fresh_output_unwritten() {
    let options = CheckOptions {
        race: false,
        ..CheckOptions::default()
    };
    let mut jobs = drawn(jobs::wanted_telling(), "launches with fresh outputs", 6);
    jobs.iter_mut().for_each(|job| job.fill = None);
    let modules: Vec<_> = good()
        .iter()
        .map(|file| Module::parse(&file.text).expect("good PTX"))
        .collect();
    let gaps = |job: &Job| {
        let has = |module: &&Module| module.entries().any(|it| it.name() == job.plan.kernel);
        let module = modules.iter().find(has).expect("a module of the kernel");
        let outcome = job.check(module, &Limits::default(), &options);
        let findings = outcome.expect("a launch").report.findings.into_iter();
        let gaps = findings.filter(|finding| finding.rule == Rule::UnwrittenOutput);
        let notes = gaps.map(|gap| format!("{}, {}: {}", job.plan.kernel, job.case, gap.message));
        notes.collect::<Vec<_>>()
    };
    let gaps: Vec<String> = jobs.par_iter().flat_map(gaps).collect();
    assert_eq!(gaps, [""; 0]);
}
