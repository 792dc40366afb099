//! Records the programs around textures, surfaces and tensor maps on a GPU.
//!
//! 1. `record_objects write DIR` leaves them in a folder.
//! 2. On the GPU's machine:
//!    `nvcc -o objects tests/fixtures/fidelity/objects.cu -lcuda && ./objects DIR`.
//! 3. `record_objects keep DIR DEVICE DRIVER DATE` makes the golden file of the outputs, and shows
//!    the programs on which the emulator disagrees.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use blockwise_tests::corpus::golden::Golden;
use blockwise_tests::objects;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["write", folder] => {
            objects::write(Path::new(folder), &objects::programs()).map_err(Into::into)
        }
        ["keep", folder, device, driver, date] => keep(Path::new(folder), [device, driver, date]),
        _ => {
            eprintln!("usage: record_objects write DIR | keep DIR DEVICE DRIVER DATE");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn keep(folder: &Path, [device, driver, date]: [&str; 3]) -> Result<(), Box<dyn Error>> {
    let mut golden = Golden::new(vec![
        format!("device: {device}"),
        format!("driver: {driver}"),
        format!("date: {date}"),
    ]);
    let programs = objects::programs();
    let outputs = objects::outputs(folder, &programs)?;
    for program in &programs {
        let Some(output) = outputs.get(&program.name) else {
            println!("REFUSED {}", program.name);
            continue;
        };
        match objects::run(program) {
            Ok(ours) => {
                if let Some(difference) = program.difference(&ours, output) {
                    println!("DIFFERENT {difference}");
                }
            }
            Err(error) => println!("EMULATOR {}: {error}", program.name),
        }
        golden.record(&program.name, program.hash(), output.clone());
    }
    golden.write(&Golden::path("objects"))?;
    println!("{} of {} programs recorded", golden.len(), programs.len());
    Ok(())
}
