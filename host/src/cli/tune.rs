//! `blockwise tune`.

use std::path::PathBuf;

use clap::Args;

use super::Global;
use super::bench::{self, Choice};
use super::failure::Failure;
use super::report::{self, Report};
use crate::io::OutputFile;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Write every candidate with its times to this file, as JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Searches the launchers' policies on the GPU. Changes nothing: it says what it would change.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let place = arguments.output.as_deref().map(OutputFile::prepare);
    let place = place.transpose()?;
    let device = bench::gpu(global)?;
    let tuning = crate::bench::tune(&device, &arguments.choice.options())?;
    let wrong = |error: serde_json::Error| Failure::new(error.to_string());
    if let (Some(place), Some(path)) = (place, &arguments.output) {
        let text = serde_json::to_string_pretty(&tuning).map_err(wrong)?;
        place.write(text.as_bytes())?;
        report::note(&format!("{} written", path.display()));
    }
    let json = serde_json::to_value(&tuning).map_err(wrong)?;
    Ok(Report::new(tuning.table(), json).passed(tuning.passed()))
}
