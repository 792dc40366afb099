//! Runs every good kernel over the matrix of sizes with all detectors and in many schedules, and shows whatever is reported: it
//! must be nothing. `cargo xtask alarms`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use blockwise_tests::alarms;
use blockwise_tests::jobs;
use blockwise_tests::ptx::files;

/// Besides the emulator's own order.
const SCHEDULES: u32 = 63;

fn main() -> ExitCode {
    let jobs: Vec<_> = jobs::telling()
        .into_iter()
        .chain(jobs::size_matrix())
        .collect();
    let mut failed = false;
    for file in files("kernels") {
        let alarms = alarms::all(&file.text, &jobs, SCHEDULES);
        for alarm in &alarms {
            println!("{alarm}");
        }
        let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
        for job in &jobs {
            *kernels.entry(&job.plan.kernel).or_default() += 1;
        }
        println!(
            "{}: {} kernels, {} launches in {} schedules each: {} reports",
            file.path.display(),
            kernels.len(),
            jobs.len(),
            SCHEDULES + 1,
            alarms.len()
        );
        failed |= !alarms.is_empty();
    }
    ExitCode::from(u8::from(failed))
}
