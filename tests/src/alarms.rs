//! False alarms: whatever the detectors report of a good kernel.

use ptx_emulator::{CheckOptions, Limits, Module};
use rayon::prelude::*;

use crate::jobs::Job;

/// Runs the jobs of the good kernels of a PTX text with all detectors, in the emulator's own order and in N other
/// schedules from a seed on, and tells every report and every wrong result.
///
/// # Panics
/// When the text is no PTX.
pub fn all(ptx: &str, jobs: &[Job], schedules: u32, seed: u64) -> Vec<String> {
    let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits::default();
    let options = CheckOptions {
        schedules,
        seed,
        ..CheckOptions::default()
    };
    let alarms = |job: &Job| {
        let about = |what: String| format!("{}, {}: {what}", job.plan.kernel, job.case);
        let outcome = match job.check(&module, &limits, &options) {
            Ok(outcome) => outcome,
            Err(error) => return vec![about(error.to_string())],
        };
        let findings = outcome.report.findings.iter().map(|finding| {
            let (rule, seed) = (finding.rule.name(), finding.seed);
            about(format!(
                "{rule} at {}, seed {seed:?}: {}",
                finding.site.place, finding.message
            ))
        });
        findings.chain(outcome.verdict.err().map(about)).collect()
    };
    let is_here = |job: &&Job| module.entries().any(|entry| entry.name() == job.plan.kernel);
    let jobs: Vec<_> = jobs.iter().filter(is_here).collect();
    jobs.into_par_iter().flat_map(alarms).collect()
}
