//! Random safe kernels for a number of seconds:
//! `cargo run -p safe_fuzz --example fuzz -- SECONDS [FIRST_SEED]`.
//!
//! Ends with an error when a kernel that was built is not clean, and shows it with as few
//! statements as its seed needs for that.

use safe_fuzz::{Style, Tally, Workshop, round, shrink};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Kernels of one build.
const BATCH: u64 = 48;
/// Statements of a kernel, at most.
const STATEMENTS: usize = 24;
/// Further orders of the threads.
const SCHEDULES: u32 = 3;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (seconds, first) = match (arguments.next(), arguments.next()) {
        (Some(Ok(seconds)), None) => (seconds, 0),
        (Some(Ok(seconds)), Some(Ok(first))) => (seconds, first),
        _ => {
            eprintln!("usage: fuzz SECONDS [FIRST_SEED]");
            return ExitCode::FAILURE;
        }
    };
    let workshop = Workshop::new("long");
    let (start, mut seed, mut tally) = (Instant::now(), first, Tally::default());
    while start.elapsed() < Duration::from_secs(seconds) {
        let one = round(&workshop, seed..seed + BATCH, STATEMENTS, SCHEDULES);
        seed += BATCH;
        show(&workshop, &one);
        tally.add(one);
        println!(
            "{:>6.0} s, seeds {first}..{seed}: {tally}",
            start.elapsed().as_secs_f64()
        );
    }
    if tally.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn show(workshop: &Workshop, tally: &Tally) {
    for verdict in &tally.findings {
        let least = shrink(workshop, &verdict.kernel, SCHEDULES);
        println!("seed {} is not clean:", verdict.kernel.seed);
        println!("{}", least.kernel.source(Style::Safe));
        for finding in &least.findings {
            println!("    {finding}");
        }
    }
    for (kernel, report) in tally.wrong.iter().chain(&tally.alarms) {
        let first = report.lines().next().unwrap_or_default();
        println!("seed {}: {first}", kernel.seed);
    }
}
