//! Makes the launches of `blockwise_tests::ncu` on a GPU, and turns what ncu counted into the
//! fixtures of the test `ncu`:
//!
//! ```text
//! ncu --csv --page raw --log-file raw.csv --metrics <those of METRICS> ncu run kernels > names.txt
//! ncu join names.txt raw.csv "H200, driver 580.159, 2026-11-21" > tests/fixtures/ncu/kernels.csv
//! ```

use std::error::Error;
use std::process::ExitCode;

use blockwise::Device;
use blockwise_tests::ncu::{METRICS, Set};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["run", set] => run(set),
        ["join", names, raw, origin] => join(names, raw, origin),
        ["metrics"] => {
            println!("{}", METRICS.join(","));
            Ok(())
        }
        _ => Err(
            "usage: ncu run kernels|shared|global, ncu join NAMES RAW ORIGIN, or ncu metrics"
                .into(),
        ),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a set's launches and prints their names.
fn run(name: &str) -> Result<(), Box<dyn Error>> {
    let set = Set::ALL
        .iter()
        .find(|set| set.name() == name)
        .ok_or("no such set")?;
    let device = Device::gpu(0)?;
    set.run(&device, |launch| println!("{launch}"));
    Ok(())
}

/// Prints the fixture: a launch a row, with the metrics that ncu has for it.
fn join(names: &str, raw: &str, origin: &str) -> Result<(), Box<dyn Error>> {
    let names = std::fs::read_to_string(names)?;
    let raw = std::fs::read_to_string(raw)?;
    // What ncu says about itself comes before the table.
    let table = raw
        .find("\"ID\"")
        .map(|start| &raw[start..])
        .ok_or("no table in ncu's output")?;
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers()?.clone();
    let columns: Vec<(&str, usize)> = METRICS
        .iter()
        .filter_map(|&metric| Some((metric, headers.iter().position(|header| header == metric)?)))
        .collect();
    let kernel = headers
        .iter()
        .position(|header| header == "Kernel Name")
        .ok_or("no names of kernels")?;
    // The first row holds units.
    let rows: Vec<csv::StringRecord> = reader.records().skip(1).collect::<Result<_, _>>()?;
    if rows.len() != names.lines().count() {
        return Err(format!(
            "{} launches, but {} rows",
            names.lines().count(),
            rows.len()
        )
        .into());
    }
    println!("# {origin}; made by tests/examples/ncu.rs");
    let metrics: Vec<&str> = columns.iter().map(|&(metric, _)| metric).collect();
    println!("launch,kernel,{}", metrics.join(","));
    for (name, row) in names.lines().zip(&rows) {
        let values = columns
            .iter()
            .map(|&(_, column)| row[column].replace(',', ""));
        println!(
            "{name},{},{}",
            &row[kernel],
            values.collect::<Vec<_>>().join(",")
        );
    }
    Ok(())
}
