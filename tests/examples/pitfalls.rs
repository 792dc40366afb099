//! Runs the deliberately broken kernels one after the other and shows what the emulator's detectors say of each.
//!
//! `cargo xtask pitfalls` builds their PTX and runs this.

use std::error::Error;
use std::process::ExitCode;

use blockwise::device::PtxSource;
use blockwise_tests::coverage::unwritten;
use blockwise_tests::jobs::{self, Job};
use ptx_emulator::{CheckOptions, Finding, Limits, Module, Severity, Site};

/// Findings of one kernel to show; the others are counted.
const SHOWN: usize = 2;

/// Orders of threads to try besides the emulator's own.
const SCHEDULES: u32 = 7;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let file = PtxSource::of_crate("broken_kernels").select((9, 0))?;
    let module = Module::parse(&file.text)?;
    for job in jobs::broken() {
        show(&job, &module, &file.text)?;
    }
    Ok(())
}

fn show(job: &Job, module: &Module, ptx: &str) -> Result<(), Box<dyn Error>> {
    println!("\n{}, {}", job.plan.kernel, job.case);
    let options = CheckOptions {
        schedules: SCHEDULES,
        ..CheckOptions::default()
    };
    let outcome = job.check(module, &Limits::default(), &options)?;
    let findings = &outcome.report.findings;
    for finding in findings.iter().take(SHOWN) {
        tell(finding);
    }
    if findings.len() > SHOWN {
        println!("  and {} more", findings.len() - SHOWN);
    }
    // What ends a launch leaves outputs unwritten too.
    let output: Vec<u32> = bytemuck::pod_collect_to_vec(&outcome.output);
    let uncovered = unwritten(ptx, &job.plan, &output).filter(|_| findings.is_empty());
    if let Some(report) = uncovered {
        println!("  {report}");
    }
    println!(
        "  the result: {}",
        match outcome.verdict {
            Ok(()) => "right, in the emulator's own order of the threads",
            Err(_) => "wrong",
        }
    );
    Ok(())
}

fn tell(finding: &Finding) {
    let severity = match finding.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    println!("  {severity}: {}", finding.message);
    for site in std::iter::once(&finding.site).chain(&finding.others) {
        println!("    {}", describe(site));
    }
    if let Some(hint) = &finding.hint {
        println!("    hint: {hint}");
    }
}

fn describe(site: &Site) -> String {
    let ([x, y, z], [tx, ty, tz]) = (site.block, site.thread);
    format!(
        "{}, block ({x}, {y}, {z}), thread ({tx}, {ty}, {tz}), at {}",
        site.what, site.place
    )
}
