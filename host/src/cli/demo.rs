//! `blockwise demo`.

use std::path::PathBuf;

use blockwise_demo::{Demo, DemoError, Row};
use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::report::Report;
use super::{Global, folder, names, progress};
use crate::plot;

#[derive(Args)]
pub(super) struct Arguments {
    /// Which experiments
    #[arg(default_value = "all", value_parser = names(Demo::ALL))]
    demo: Demo,
    /// Draw the two-tone filter's signal and spectra into this folder, as PNG and SVG
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    if arguments.plot.is_some() && ![Demo::Conv, Demo::All].contains(&arguments.demo) {
        return Err(
            Failure::new(format!("demo `{}` has nothing to plot", arguments.demo))
                .hint("`blockwise demo conv --plot DIR` draws the two-tone filter"),
        );
    }
    arguments.plot.as_deref().map_or(Ok(()), folder::prepare)?;
    let device = global.open()?;
    let mut progress = progress::Checks::new(arguments.demo.checks());
    let mut watcher = |row: &Row| progress.take(&format!("{} {}", row.kernel, row.size));
    let mut outcome = blockwise_demo::run(&device, arguments.demo, &mut watcher)?;
    if let (Some(folder), Some(tones)) = (&arguments.plot, &outcome.two_tones) {
        let drawn = plot::two_tones(folder, tones.sample_rate, &tones.before, &tones.after);
        let files = drawn.map_err(|error| {
            Failure::new(error.to_string()).hint("give --plot a folder that you may write in")
        })?;
        let files = files.iter().map(|file| format!("plot: {}", file.display()));
        outcome.remarks.splice(..0, files);
    }
    let (name, passed) = (&device.properties().name, outcome.passed());
    let text = format!("device: {name}\n{}", outcome.text());
    let json = json!({ "device": name, "rows": outcome.rows, "remarks": outcome.remarks });
    progress.end();
    Ok(Report::new(text, json).passed(passed))
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        let failure = Failure::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
