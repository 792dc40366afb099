//! Runs mutants and says how each was caught.

use std::fmt::{self, Display};

use ptx_emulator::{CheckOptions, Limits, Module, Tool};
use rayon::prelude::*;

use super::explained::{expected, has_reason};
use super::{Mutant, Operator, Source};
use crate::jobs::Job;
use crate::sampling::Sample;

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

/// Kernels that differ from others by numbers, or have the same passes: mutants of the others stand
/// for theirs.
const INSTANCES: [&str; 13] = [
    "scan_once_sum_i",
    "_direct_square_",
    "_direct_wide_",
    "_single8_",
    "_aligned_narrow_",
    "_fft4096_",
    "_fft8192_",
    "_fft16384_",
    "_fft_rows",
    "_fft_columns_wide_",
    "_fft_outputs4096_",
    "_fft_outputs8192_",
    "_fft_outputs16384_",
];

/// Kernels whose survivors have no reasons yet (an open point of CONTRIBUTING.md).
const UNTRIED: [&str; 22] = [
    "sum_axis_",
    "extreme_axis_",
    "scan_sum_",
    "scan_extreme_",
    "scan_once_extreme_",
    "scan_once_sum_f64",
    "scan_once_sum_i64",
    "matmul_sliced_",
    "matmul_mma_",
    "matmul_thin_",
    "matmul_short_deep_",
    "matmul_few_",
    "matmul_one_col_",
    "matmul_narrow_",
    "conv1d_blocked_f32",
    "conv1d_rows_",
    "conv1d_fft2048_",
    "conv1d_taps_fft2048_",
    "conv1d_fft_columns_",
    "conv1d_fft_outputs2048_",
    "conv1d_fft_radix2",
    "conv1d_taps_fft_radix2",
];

/// Lines from which on a kernel is long: it has more mutants, and each takes longer. A few long ones
/// take most of the time.
const LONG_KERNEL: usize = 900;

/// Of a long kernel's mutants one in this many is drawn.
const DRAWN: u64 = 6;

/// Which mutants are tried.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// All.
    Whole,
    /// Half of the families of kernels, drawn; of each one element type; of a long kernel all deleted
    /// barriers and a sixth of the other mutants. Mutants with a reason to survive are not run.
    Drawn(Sample),
}

impl Extent {
    fn takes(self, mutant: &Mutant, source: &Source) -> bool {
        let Self::Drawn(sample) = self else {
            return true;
        };
        // Those that have a reason are counted.
        source.lines.len() < LONG_KERNEL
            || mutant.operator == Operator::DeleteBarrier
            || has_reason(mutant)
            || sample.takes((&mutant.kernel, mutant.line, &mutant.after), DRAWN)
    }
}

/// A kernel's name without the type of its elements.
fn family(kernel: &str) -> &str {
    match kernel.rsplit_once('_') {
        Some((family, "f32" | "f64" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64")) => family,
        _ => kernel,
    }
}

/// Of the families of kernels, one in this many is drawn.
const FAMILIES: u64 = 2;

/// Keeps half of the families, and of each a kernel of a type that is drawn: kernels for two types
/// may differ in more than numbers.
fn keep_telling(sources: &mut Vec<Source>, sample: Sample) {
    sources.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    let families = std::mem::take(sources);
    for of_one in families.chunk_by(|a, b| family(&a.kernel) == family(&b.kernel)) {
        if !sample.takes(("family", family(&of_one[0].kernel)), FAMILIES) {
            continue;
        }
        let drawn = sample.one_of(of_one.len(), family(&of_one[0].kernel));
        sources.push(of_one[drawn].clone());
    }
}

/// The kernels of a PTX text without `INSTANCES` and `UNTRIED`.
pub fn tried(text: &str) -> Vec<Source> {
    let mut sources = Source::split(text);
    sources.retain(|source| !INSTANCES.iter().any(|name| source.kernel.contains(name)));
    sources.retain(|source| !UNTRIED.iter().any(|name| source.kernel.starts_with(name)));
    sources
}

/// Every mutant of some kernels.
///
/// # Panics
/// When a good kernel is not good, or has no job.
pub fn trials(mut sources: Vec<Source>, jobs: &[Job], extent: Extent) -> Vec<Trial> {
    if let Extent::Drawn(sample) = extent {
        keep_telling(&mut sources, sample);
    }
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
        // Most mistakes are caught by the shortest already.
        let mut measured: Vec<_> = steps(source, &jobs).into_iter().zip(jobs).collect();
        measured.sort_by_key(|(steps, _)| *steps);
        let (steps, jobs): (Vec<_>, Vec<_>) = measured.into_iter().unzip();
        let refused = refused(source, &jobs, &steps);
        let mutants = (Operator::ALL.iter()).flat_map(|operator| operator.mutants(source));
        let mut mutants: Vec<_> = mutants.collect();
        let expected = match extent {
            Extent::Whole => Vec::new(),
            Extent::Drawn(_) => expected(&mutants),
        };
        mutants.retain(|mutant| extent.takes(mutant, source));
        let all_jobs = matches!(extent, Extent::Whole);
        let trial = |mutant: Mutant| {
            if expected.contains(&mutant) {
                return Trial {
                    mutant,
                    verdict: Verdict::Survived,
                };
            }
            let mut verdict = run(&mutant, source, &jobs, &steps, all_jobs);
            if verdict == Verdict::Survived && !refused.is_empty() {
                let (jobs, steps): (Vec<_>, Vec<_>) =
                    refused.iter().map(|(job, steps)| (job, *steps)).unzip();
                verdict = run(&mutant, source, &jobs, &steps, all_jobs);
            }
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

/// The shortest jobs stand for all in launches that are refused.
const SHORTEST: usize = 4;

/// Launches that the contract refuses and in which the good kernel is clean, with its warp
/// instructions: a safe kernel's guards are for them. One that is `unsafe` inside may rely on its
/// contract.
fn refused(source: &Source, jobs: &[&Job], steps: &[u64]) -> Vec<(Job, u64)> {
    let Ok(module) = Module::parse(&source.text()) else {
        return Vec::new();
    };
    let mut shortest: Vec<_> = steps.iter().zip(jobs).collect();
    shortest.sort_by_key(|(steps, _)| **steps);
    let clean = |(steps, job): (u64, Job)| {
        let limits = limits(8 * steps);
        let outcome = job.check(&module, &limits, &CheckOptions::default()).ok()?;
        let steps = outcome.report.statistics.warp_instructions;
        outcome.report.is_clean().then_some((job, steps))
    };
    (shortest.into_iter().take(SHORTEST))
        .flat_map(|(steps, job)| job.refused().into_iter().map(|job| (*steps, job)))
        .filter_map(clean)
        .collect()
}

/// More than a good kernel needs by far: an endless loop.
fn limits(steps: u64) -> Limits {
    Limits {
        warp_instructions: 4 * steps + 1000,
        ..Limits::default()
    }
}

/// Warp instructions from which on a job is long.
const LONG: u64 = 100_000;

/// Runs a mutant through the jobs until a detector reports it; else the output decides. Unless all
/// jobs are asked for, the first wrong output ends it, except of a deleted barrier: that must be
/// reported. Long jobs are for what no other one shows.
pub fn run(
    mutant: &Mutant,
    source: &Source,
    jobs: &[&Job],
    steps: &[u64],
    all_jobs: bool,
) -> Verdict {
    let module = match Module::parse(&mutant.text(source)) {
        Ok(module) => module,
        Err(error) => return Verdict::Invalid(error.to_string()),
    };
    let mut verdict = Verdict::Survived;
    for (job, steps) in jobs.iter().zip(steps) {
        let is_caught = verdict != Verdict::Survived && mutant.operator != Operator::DeleteBarrier;
        if is_caught && *steps > LONG {
            continue;
        }
        let outcome = match job.check(&module, &limits(*steps), &CheckOptions::default()) {
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
            if !all_jobs && mutant.operator != Operator::DeleteBarrier {
                return verdict;
            }
        }
    }
    verdict
}

/// A deleted barrier must be reported as what it is: that the emulator's order of threads leads to
/// a value that no thread wrote, or to a wrong result, is luck.
fn settles(operator: Operator, tool: Tool) -> bool {
    operator != Operator::DeleteBarrier || matches!(tool, Tool::Racecheck | Tool::Synccheck)
}
