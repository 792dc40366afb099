//! Runs mutants and says how each was caught.

use std::fmt::{self, Display};

use ptx_emulator::{CheckOptions, Limits, Module, Tool};
use rayon::prelude::*;

use super::{Mutant, Operator, Source};
use crate::jobs::Job;

/// A mutant and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The mutant.
    pub mutant: Mutant,
    /// How it ended.
    pub verdict: Verdict,
}

/// How a mutant ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A detector reported it.
    Detector(Tool),
    /// No detector did, but the output is wrong.
    Oracle,
    /// Nothing was wrong in any job.
    Survived,
    /// The mutant is no PTX, with the reason.
    Invalid(String),
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detector(tool) => write!(f, "{tool:?}"),
            Self::Oracle => f.write_str("oracle"),
            Self::Survived => f.write_str("survived"),
            Self::Invalid(reason) => write!(f, "invalid: {reason}"),
        }
    }
}

/// Kernels that differ from others by the numbers in their loops: mutants of the others stand for theirs.
const INSTANCES: [&str; 3] = ["_single8_", "_pipelined_tall_", "_aligned_narrow_"];

/// Every mutant of every kernel in a PTX text, without `INSTANCES`.
///
/// # Panics
/// When a good kernel is not good, or has no job.
pub fn trials(text: &str, jobs: &[Job]) -> Vec<Trial> {
    let mut sources = Source::split(text);
    sources.retain(|source| !INSTANCES.iter().any(|name| source.kernel.contains(name)));
    let run_all = |source: &Source| {
        let jobs: Vec<_> = jobs
            .iter()
            .filter(|job| job.plan.kernel == source.kernel)
            .collect();
        assert!(
            !jobs.is_empty(),
            "no job for the kernel {}: add one to tests/src/jobs",
            source.kernel
        );
        let steps = steps(source, &jobs);
        let mutants = Operator::ALL
            .iter()
            .flat_map(|operator| operator.mutants(source));
        let mutants: Vec<_> = mutants.collect();
        let trial = |mutant: Mutant| {
            let verdict = run(&mutant, source, &jobs, &steps);
            Trial { mutant, verdict }
        };
        mutants.into_par_iter().map(trial).collect::<Vec<_>>()
    };
    sources.par_iter().flat_map(run_all).collect()
}

/// The warp instructions of each job on the good kernel.
fn steps(source: &Source, jobs: &[&Job]) -> Vec<u64> {
    let module =
        Module::parse(&source.text()).unwrap_or_else(|error| panic!("{}: {error}", source.kernel));
    let steps = |job: &&Job| {
        let context = format!("{}, {}", source.kernel, job.case);
        let outcome = job.check(&module, &Limits::default(), &CheckOptions::default());
        let outcome = outcome.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(
            outcome.report.is_clean(),
            "{context}: {:?}",
            outcome.report.findings[0]
        );
        assert_eq!(outcome.verdict, Ok(()), "{context}");
        outcome.report.statistics.warp_instructions
    };
    jobs.iter().map(steps).collect()
}

/// Runs a mutant through the jobs until a detector reports it; else the output decides.
pub fn run(mutant: &Mutant, source: &Source, jobs: &[&Job], steps: &[u64]) -> Verdict {
    let module = match Module::parse(&mutant.text(source)) {
        Ok(module) => module,
        Err(error) => return Verdict::Invalid(error.to_string()),
    };
    let mut verdict = Verdict::Survived;
    for (job, steps) in jobs.iter().zip(steps) {
        // More than a good kernel needs by far: an endless loop.
        let limits = Limits {
            warp_instructions: 4 * steps + 1000,
            ..Limits::default()
        };
        let outcome = match job.check(&module, &limits, &CheckOptions::default()) {
            Ok(outcome) => outcome,
            Err(error) => return Verdict::Invalid(error.to_string()),
        };
        let tools = || {
            outcome
                .report
                .findings
                .iter()
                .map(|finding| finding.rule.tool())
        };
        if let Some(tool) = tools().find(|&tool| settles(mutant.operator, tool)) {
            return Verdict::Detector(tool);
        }
        if outcome.verdict.is_err() || tools().next().is_some() {
            verdict = tools().next().map_or(Verdict::Oracle, Verdict::Detector);
        }
    }
    verdict
}

/// A deleted barrier must be reported as what it is: that the emulator's order of threads leads to a value that nobody wrote,
/// or to a wrong result, is luck.
fn settles(operator: Operator, tool: Tool) -> bool {
    operator != Operator::DeleteBarrier || matches!(tool, Tool::Racecheck | Tool::Synccheck)
}
