//! `blockwise demo`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::report::Report;
use super::{Global, folder, names, progress};
use crate::demo::{self, Demo, DemoError, Row};

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
    let outcome = demo::run(
        &device,
        arguments.demo,
        arguments.plot.as_deref(),
        &mut watcher,
    )?;
    let (rows, remarks) = (outcome.rows, outcome.remarks);
    progress.end();
    let failed = rows.iter().filter(|row| !row.pass).count();
    let verdict = match failed {
        0 => format!("all {} checks passed", rows.len()),
        _ => format!("{failed} of {} checks FAILED", rows.len()),
    };
    let name = &device.properties().name;
    let mut text = vec![format!("device: {name}"), demo::table(&rows)];
    text.extend(remarks.iter().cloned());
    text.push(verdict);
    Ok(Report::new(
        text.join("\n"),
        json!({ "device": name, "rows": rows, "remarks": remarks }),
    )
    .passed(failed == 0))
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
