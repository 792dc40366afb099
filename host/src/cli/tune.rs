//! `blockwise tune`.

use std::path::PathBuf;

use blockwise_ops::tuning;
use clap::Args;
use serde_json::json;

use super::bench::{self, Choice};
use super::failure::Failure;
use super::report::{self, Report};
use super::{Global, folder};
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
    /// Save the kernels that are faster than the launchers' choice for this device, in
    /// ~/.config/blockwise/tuning.txt or the file that BLOCKWISE_TUNING names: launchers take them
    /// for sizes within a factor of 1.4
    #[arg(long)]
    save: bool,
    /// Forget what was saved for this device, and search nothing
    #[arg(long, conflicts_with_all = ["save", "output"])]
    forget: bool,
}

/// Searches the launchers' policies on the GPU. Without `--save` it changes nothing, and reports
/// what it would change.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    if arguments.forget {
        let device = global.open()?;
        let path = replace(tuning::without(device.properties()))?;
        let text = format!("{}: nothing is saved for this device", path.display());
        let json = json!({ "command": "tune", "forgotten": path.display().to_string() });
        return Ok(Report::new(text, json));
    }
    let output = arguments.output.as_deref().map(OutputFile::prepare);
    let output = output.transpose()?;
    let device = bench::gpu(global)?;
    let tuning = crate::bench::tune(&device, &arguments.choice.options(), |tuning| {
        report::notice(&tuning.latest());
        // Errors of the destination are reported at the end.
        if let (Some(place), Ok(text)) = (&output, text(tuning)) {
            let _ = place.write_so_far(text.as_bytes());
        }
    })?;
    if let (Some(place), Some(path)) = (output, &arguments.output) {
        place.write(text(&tuning)?.as_bytes())?;
        report::notice(&format!("{} written", path.display()));
    }
    if arguments.save {
        let rules = tuning.rules();
        if !rules.is_empty() {
            let path = replace(tuning::with(device.properties(), &rules))?;
            let count = rules.len();
            report::notice(&format!("{count} kernels saved in {}", path.display()));
        }
    }
    let json = serde_json::to_value(&tuning).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Report::new(tuning.table(), json).passed(tuning.passed()))
}

/// Writes the file with the saved choices.
fn replace(changed: std::io::Result<(PathBuf, String)>) -> Result<PathBuf, Failure> {
    let (path, text) = changed.map_err(|error| {
        Failure::new(error.to_string()).hint("BLOCKWISE_TUNING names another file")
    })?;
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(Ok(()), folder::prepare)?;
    OutputFile::prepare(&path)?.write(text.as_bytes())?;
    Ok(path)
}

fn text(tuning: &Tuning) -> Result<String, Failure> {
    serde_json::to_string_pretty(tuning).map_err(|error| Failure::new(error.to_string()))
}
