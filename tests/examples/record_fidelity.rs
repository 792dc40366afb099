//! Runs the fidelity corpus on the GPU and writes the golden file.
//!
//! `record_fidelity FILE DRIVER DATE`, such as
//! `record_fidelity h200.golden "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader)" "$(date -u +%F)"`.
//! It shows the programs on which the emulator disagrees, and those that the GPU refuses, which are
//! not recorded.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use blockwise::Device;
use blockwise_tests::corpus::golden::Golden;
use blockwise_tests::corpus::{self, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, driver, date] = arguments.as_slice() else {
        eprintln!("usage: record_fidelity FILE DRIVER DATE");
        return ExitCode::FAILURE;
    };
    match record(Path::new(path), driver, date) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(path: &Path, driver: &str, date: &str) -> Result<(), Box<dyn Error>> {
    let mut gpu = Device::gpu(0)?;
    let emulator = Device::emulator();
    let mut golden = Golden::new(vec![
        format!("device: {}", gpu.properties().name),
        format!("driver: {driver}, {}", gpu.properties().driver),
        format!("date: {date}"),
    ]);
    let programs = corpus::programs();
    for program in &programs {
        let output = match run::run(&gpu, program) {
            Ok(output) => output,
            Err(error) => {
                println!("REFUSED {}: {error}", program.name);
                // A fault spoils its context.
                gpu = Device::gpu(0)?;
                continue;
            }
        };
        match run::run(&emulator, program) {
            Ok(ours) => {
                if let Some(difference) = run::difference(program, &ours, &output) {
                    println!("DIFFERENT {difference}");
                }
            }
            Err(error) => println!("EMULATOR {}: {error}", program.name),
        }
        golden.record(&program.name, program.hash(), output);
    }
    golden.write(path)?;
    println!("{} of {} programs recorded", golden.len(), programs.len());
    Ok(())
}
