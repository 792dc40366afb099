//! Runs the deliberately broken kernels one after the other and shows what the emulator's detectors
//! say of each.
//!
//! `cargo xtask pitfalls` builds their PTX and runs this.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use blockwise::PtxFile;
use blockwise_tests::jobs::{self, Job};
use blockwise_tests::ptx::file;
use ptx_emulator::report::{self, Sources, Style};
use ptx_emulator::{CheckOptions, Limits, Module};

/// Orders of threads to try besides the emulator's own.
const SCHEDULES: u32 = 7;

/// Findings of one kernel to show; the others are counted.
const SHOWN: usize = 2;

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
    let file = file("broken_kernels", (9, 0));
    let module = Module::parse(&file.text)?;
    for job in jobs::broken() {
        show(&job, &module, &file)?;
    }
    Ok(())
}

fn show(job: &Job, module: &Module, file: &PtxFile) -> Result<(), Box<dyn Error>> {
    let options = CheckOptions {
        schedules: SCHEDULES,
        max_findings: SHOWN,
        ..CheckOptions::default()
    };
    let outcome = job.check(module, &Limits::default(), &options)?;
    let sources = Sources::new().with_ptx(Path::new(&file.origin), &file.text);
    let text = report::text(&[outcome.report], &sources, Style::on(&std::io::stdout()));
    print!("\n{text}");
    println!(
        "The result of {}, {}: {}",
        job.plan.kernel,
        job.case,
        match outcome.verdict {
            Ok(()) => "right, in the emulator's own order of the threads",
            Err(_) => "wrong",
        }
    );
    Ok(())
}
