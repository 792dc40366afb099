//! No false alarm: the detectors report nothing about a good kernel. All sizes run in the
//! emulator's own order and the telling ones in eight, with `cargo xtask test --all` in 64;
//! `cargo xtask check --sizes all --schedules 63` runs all sizes in 64.

use std::collections::BTreeSet;

use blockwise_tests::jobs::Job;
use blockwise_tests::ptx::{entries, files};
use blockwise_tests::{alarms, jobs, whole_sweeps};
use ptx_emulator::{CheckOptions, Limits, Module, Rule};
use rayon::prelude::*;

#[test]
fn every_good_kernel_has_jobs() {
    for file in files("kernels") {
        let entries = entries(&file.text);
        let kernels: BTreeSet<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for jobs in [jobs::telling(), jobs::size_matrix()] {
            let covered: BTreeSet<_> = jobs.iter().map(|job| job.plan.kernel).collect();
            assert_eq!(kernels, covered);
        }
    }
}

#[test]
fn nothing_is_reported_about_good_kernels_of_any_size() {
    for file in files("kernels") {
        assert_eq!(alarms::all(&file.text, &jobs::size_matrix(), 0), [""; 0]);
    }
}

#[test]
fn nothing_is_reported_about_good_kernels_in_any_schedule() {
    let schedules = if whole_sweeps() { 63 } else { 7 };
    for file in files("kernels") {
        let alarms = alarms::all(&file.text, &jobs::telling(), schedules);
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
    let mut jobs = jobs::telling();
    jobs.iter_mut().for_each(|job| job.fill = None);
    let module = Module::parse(&files("kernels")[0].text).expect("good PTX");
    let gaps = |job: &Job| {
        let outcome = job.check(&module, &Limits::default(), &options);
        let findings = outcome.expect("a launch").report.findings.into_iter();
        let gaps = findings.filter(|finding| finding.rule == Rule::UnwrittenOutput);
        let notes = gaps.map(|gap| format!("{}, {}: {}", job.plan.kernel, job.case, gap.message));
        notes.collect::<Vec<_>>()
    };
    let gaps: Vec<String> = jobs.par_iter().flat_map(gaps).collect();
    assert_eq!(gaps, [""; 0]);
}
