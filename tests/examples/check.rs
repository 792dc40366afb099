//! Runs the good kernels under all detectors over a matrix of sizes: a line for each kernel, and a
//! report of whatever was found. `cargo xtask check`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use blockwise_cli::io::OutputFile;
use blockwise_tests::jobs::{self, Job};
use blockwise_tests::ptx::file;
use clap::{Parser, ValueEnum};
use ptx_emulator::report::{self, Sources, Style};
use ptx_emulator::{CheckOptions, CheckReport, Limits, Module, Severity};
use rayon::prelude::*;

/// Check the kernels of this workspace.
///
/// Exit codes: 0 nothing was found, 1 something was or a result is wrong, 2 the check could not be
/// made.
#[derive(Parser)]
#[command(name = "cargo xtask check")]
struct Arguments {
    /// Kernels: those whose names begin like this; all when none is given
    kernels: Vec<String>,
    /// Run N other orders of the threads too
    #[arg(long, value_name = "N", default_value_t = 0)]
    schedules: u32,
    /// The first order's seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The launches of each kernel
    #[arg(long, default_value = "few")]
    sizes: Sizes,
    /// The form of the report
    #[arg(long, default_value = "text")]
    format: Format,
    /// Write the report to this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sizes {
    /// Few and small, which together miss little
    Few,
    /// Around every tile's edge, primes, shapes that are not square, capped grids
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let place = arguments.output.as_deref().map(OutputFile::prepare);
    let place = place.transpose()?;
    let files = ["kernels", "ladder"].map(|stem| file(stem, (9, 0)));
    let modules = files.iter().map(|file| Module::parse(&file.text));
    let modules = modules.collect::<Result<Vec<_>, _>>()?;
    let module_of = |kernel: &str| {
        let has = |module: &Module| module.entries().any(|entry| entry.name() == kernel);
        modules.iter().position(has)
    };
    let jobs = match arguments.sizes {
        Sizes::Few => jobs::telling(),
        Sizes::All => jobs::size_matrix(),
    };
    let wanted = |job: &Job| {
        let begins = |name: &String| job.plan.kernel.starts_with(name.as_str());
        arguments.kernels.is_empty() || arguments.kernels.iter().any(begins)
    };
    let jobs: Vec<Job> = jobs.into_iter().filter(wanted).collect();
    if jobs.is_empty() {
        let entries = modules.iter().flat_map(Module::entries);
        let names: Vec<_> = entries.map(|entry| entry.name()).collect();
        return Err(format!("no such kernel; there are: {}", names.join(", ")).into());
    }
    let options = CheckOptions {
        schedules: arguments.schedules,
        seed: arguments.seed,
        ..CheckOptions::default()
    };
    let outcomes: Vec<_> = jobs
        .par_iter()
        .map(|job| {
            let kernel = job.plan.kernel;
            let at = module_of(kernel).ok_or_else(|| format!("no PTX has {kernel}"))?;
            let outcome = job.check(&modules[at], &Limits::default(), &options);
            outcome.map_err(|error| format!("{kernel}, {}: {error}", job.case))
        })
        .collect::<Result<_, _>>()?;

    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut checks = Vec::new();
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let line = lines.entry(job.plan.kernel).or_default();
        line.add(&outcome.report);
        if let Err(verdict) = outcome.verdict {
            wrong.push(format!("{}, {}: {verdict}", job.plan.kernel, job.case));
        }
        if !(outcome.report.is_clean() && outcome.report.notices.is_empty()) {
            checks.push(outcome.report);
        }
    }
    // Findings are mostly of one file; lines of PTX are shown of the first one's.
    let first = checks.first().and_then(|check| module_of(&check.kernel));
    let file = &files[first.unwrap_or(0)];
    let sources = Sources::new().with_ptx(Path::new(&file.origin), &file.text);
    let is_text = arguments.format == Format::Text;
    let report = match arguments.format {
        Format::Text => report::text(&checks, &sources, Style::on(&stdout())),
        Format::Json => report::json(&checks, Vec::new()),
        Format::Sarif => report::sarif(&checks, &sources),
    };
    let mut out = stdout().lock();
    // The report alone when a program is to read it from here.
    if is_text || place.is_some() {
        for (kernel, line) in &lines {
            writeln!(out, "{kernel:32} {line}")?;
        }
    }
    for wrong in &wrong {
        eprintln!("wrong result: {wrong}");
    }
    match place {
        Some(place) => place.write(report.as_bytes())?,
        None => write!(out, "{report}")?,
    }
    Ok(checks.iter().all(CheckReport::is_clean) && wrong.is_empty())
}

/// What was found in one kernel's launches.
#[derive(Default)]
struct Line {
    launches: usize,
    instructions: u64,
    errors: usize,
    warnings: usize,
}

impl Line {
    fn add(&mut self, report: &CheckReport) {
        self.launches += 1;
        self.instructions += report.statistics.lane_instructions;
        self.errors += report.count(Severity::Error);
        self.warnings += report.count(Severity::Warning);
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Line {
            launches,
            instructions,
            errors,
            warnings,
        } = self;
        write!(
            f,
            "{launches:4} launches {instructions:10} lane instructions: {errors} errors, {warnings} warnings"
        )
    }
}
