//! `blockwise tune`.

use std::path::PathBuf;

use clap::Args;

use super::Global;
use super::bench::{self, Choice};
use super::failure::Failure;
use super::report::{self, Report};
use crate::bench::Tuning;
use crate::io::OutputFile;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Write every candidate with its times to this file, as JSON; after each work what there is so
    /// far
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Searches the launchers' policies on the GPU. Changes nothing: it says what it would change.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let output = arguments.output.as_deref().map(OutputFile::prepare);
    let output = output.transpose()?;
    let device = bench::gpu(global)?;
    let tuning = crate::bench::tune(&device, &arguments.choice.options(), |tuning| {
        report::notice(&tuning.latest());
        // What is wrong with the place is reported when all is done.
        if let (Some(place), Ok(text)) = (&output, text(tuning)) {
            let _ = place.write_so_far(text.as_bytes());
        }
    })?;
    if let (Some(place), Some(path)) = (output, &arguments.output) {
        place.write(text(&tuning)?.as_bytes())?;
        report::notice(&format!("{} written", path.display()));
    }
    let json = serde_json::to_value(&tuning).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Report::new(tuning.table(), json).passed(tuning.passed()))
}

fn text(tuning: &Tuning) -> Result<String, Failure> {
    serde_json::to_string_pretty(tuning).map_err(|error| Failure::new(error.to_string()))
}
