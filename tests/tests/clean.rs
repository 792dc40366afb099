//! No false alarm: the detectors report nothing about a good kernel. All sizes run in the
//! emulator's own order and the telling ones in sixteen, with `cargo xtask test --all` in 64;
//! `cargo xtask check --sizes all --schedules 63` runs all sizes in 64.

use std::collections::BTreeSet;

use blockwise_tests::ptx::{entries, files};
use blockwise_tests::{alarms, jobs, whole_sweeps};

#[test]
fn every_good_kernel_has_jobs() {
    for file in files("kernels") {
        let entries = entries(&file.text);
        let kernels = entries.iter().map(|entry| entry.name.as_str());
        let kernels: BTreeSet<_> = kernels.filter(|name| !jobs::is_without(name)).collect();
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
    let schedules = if whole_sweeps() { 63 } else { 15 };
    for file in files("kernels") {
        let alarms = alarms::all(&file.text, &jobs::telling(), schedules);
        assert_eq!(alarms, [""; 0]);
    }
}
