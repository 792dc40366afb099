//! `blockwise tune`.

use std::path::{Path, PathBuf};

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
    /// Write every candidate with its times to this file, as JSON; after each work what there is so far
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Searches the launchers' policies on the GPU. Changes nothing: it says what it would change.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let output = arguments.output.as_deref();
    output.map(OutputFile::prepare).transpose()?;
    let device = bench::gpu(global)?;
    let write = |tuning: &Tuning| match output {
        Some(path) => write(tuning, path),
        None => Ok(()),
    };
    let tuning = crate::bench::tune(&device, &arguments.choice.options(), |tuning| {
        report::note(&tuning.latest());
        // What is wrong with the place is told when all is done.
        let _ = write(tuning);
    })?;
    write(&tuning)?;
    if let Some(path) = output {
        report::note(&format!("{} written", path.display()));
    }
    let json = serde_json::to_value(&tuning).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Report::new(tuning.table(), json).passed(tuning.passed()))
}

fn write(tuning: &Tuning, path: &Path) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(tuning).map_err(|error| Failure::new(error.to_string()))?;
    Ok(OutputFile::prepare(path)?.write(text.as_bytes())?)
}
