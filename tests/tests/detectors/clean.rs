//! No false alarm: the detectors report nothing about a good kernel. Launches of all sizes run in
//! the emulator's own order, and half of the telling ones in others: each time other launches and
//! other orders, with `cargo xtask test --all` every launch and 64 orders. `cargo xtask check --sizes
//! all --schedules 63` runs all sizes in 64.

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

/// Of a variant that is more than one launch, the last one is recorded: the others have jobs of their
/// own.
#[test]
fn every_kernel_of_a_description_has_a_job() {
    let covered: BTreeSet<_> = jobs::telling().iter().map(|job| job.plan.kernel).collect();
    let variants = OPERATIONS.iter().flat_map(|of| ladder::variants(of));
    for kernel in variants.flat_map(|variant| variant.kernels) {
        let name = kernel.entry.name;
        // No emulator has the instructions of the second.
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

/// One launch in N.
fn drawn(mut jobs: Vec<Job>, what: &str, n: u64) -> Vec<Job> {
    let sample = Sample::draw(what);
    jobs.retain(|job| sample.takes((job.plan.kernel, job.case.to_string()), n));
    jobs
}

/// What a change of the emulator is tried with first: each kernel's first telling launch.
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
    // Of some families all: a change of theirs is tried.
    if wanted_families().is_none() {
        jobs = drawn(jobs, "telling launches", 2);
    }
    for file in good() {
        let alarms = alarms::all(&file.text, &jobs, schedules, orders.seed);
        assert_eq!(alarms, [""; 0]);
    }
}

/// Outputs are fresh here, not filled: an element of them that no thread writes would be a note. What
/// else is found is not looked at, for some kernels rely on what their output holds.
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
