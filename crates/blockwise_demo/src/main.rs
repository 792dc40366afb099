//! The demos alone, `blockwise_demo [DEMO]`: what `cargo xtask demo` builds on a fresh clone, because
//! the whole command takes as long again.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use blockwise::{Device, DeviceChoice};
use blockwise_demo::{Demo, DemoError, Row};

/// How often checks are counted where nothing can be overwritten.
const EVERY: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let demo = match arguments.as_slice() {
        [] => Ok(Demo::All),
        [name] => name.parse::<Demo>().map_err(|error| error.to_string()),
        _ => Err("one demo at a time; `all` runs each".to_owned()),
    };
    match demo.and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs on the first GPU, else on the emulator, and prints the table; true if each check passed.
fn run(demo: Demo) -> Result<bool, String> {
    let device = Device::open(DeviceChoice::Auto).map_err(|error| explained(&error.into()))?;
    if let Some(reason) = device.fallback() {
        eprintln!("no GPU can be used ({reason}): using the emulator");
    }
    let (began, mut done, mut shown) = (Instant::now(), 0, Instant::now());
    let mut count = |row: &Row| {
        done += 1;
        let (total, kernel, size) = (demo.checks(), &row.kernel, &row.size);
        let left = blockwise_demo::left(began.elapsed(), done, total);
        let text = format!("{done} of {total} checks, {left}: {kernel} {size}");
        if stderr().is_terminal() {
            eprint!("\r\x1b[K{text}");
        } else if shown.elapsed() >= EVERY {
            shown = Instant::now();
            eprintln!("{text}");
        }
    };
    let outcome = blockwise_demo::run(&device, demo, &mut count);
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    let outcome = outcome.map_err(|error| explained(&error))?;
    let name = &device.properties().name;
    // A reader that has gone (`| head`) does not change the result.
    let _ = writeln!(stdout(), "device: {name}\n{}", outcome.text());
    Ok(outcome.passed())
}

fn explained(error: &DemoError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}
