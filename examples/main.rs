//! `cargo run -p course -- 3`: runs an example of the course.

use std::error::Error;
use std::process::ExitCode;

use blockwise::{Device, DeviceChoice};
use course::{COURSE, Example};

const USAGE: &str = "\
Usage: cargo run -p course -- [NUMBER... | all] [--device auto|gpu|gpu:N|emulator]
Without numbers, lists the examples.";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.downcast_ref().and_then(blockwise::Error::hint) {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut device = DeviceChoice::Auto;
    let mut numbers = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => numbers.clear(),
            "--device" => device = arguments.next().ok_or(USAGE)?.parse()?,
            "all" => numbers.extend(1..=COURSE.len()),
            number => numbers.push(number.parse().map_err(|_| USAGE)?),
        }
    }
    if numbers.is_empty() {
        list();
        return Ok(());
    }
    let device = Device::open(device)?;
    if let Some(reason) = device.fallback() {
        eprintln!("on the emulator: {reason}");
    }
    println!("device: {}", device.properties().name);
    for number in numbers {
        let example = number.checked_sub(1).and_then(|index| COURSE.get(index));
        let Example { title, run } =
            example.ok_or_else(|| format!("there is no example {number}"))?;
        println!("\n{number:02} {title}");
        run(&device)?;
    }
    Ok(())
}

fn list() {
    for (index, example) in COURSE.iter().enumerate() {
        println!("{:3}  {}", index + 1, example.title);
    }
    println!("\n{USAGE}");
}
