//! `blockwise new`, `init`, `exercise`, `setup` and `doctor`.

use blockwise_new::{Error, Exercise, Init, New, Outcome};
use serde_json::json;

use super::failure::Failure;
use super::report::Report;
use crate::project::{self, Setup};

/// Makes a project.
pub(super) fn run(arguments: &New) -> Result<Report, Failure> {
    Ok(report(arguments.run()?))
}

/// Adds a kernel to a project.
pub(super) fn init(arguments: &Init) -> Result<Report, Failure> {
    Ok(report(arguments.run()?))
}

/// Tests solutions of the book's exercises.
pub(super) fn exercise(arguments: &Exercise) -> Result<Report, Failure> {
    let tested = arguments.run()?;
    let json = project::tested(&tested);
    Ok(Report::new(tested.text.clone(), json).passed(tested.pass()))
}

/// Installs what is missing.
pub(super) fn setup(arguments: Setup) -> Result<Report, Failure> {
    let text = project::setup(arguments).map_err(Failure::new)?;
    Ok(Report::new(text.clone(), json!(text)))
}

/// Says what is there and what is missing.
pub(super) fn doctor() -> Result<Report, Failure> {
    let found = project::doctor().map_err(Failure::new)?;
    Ok(Report::new(found.text.clone(), json!(found.text)).passed(found.complete))
}

fn report(outcome: Outcome) -> Report {
    let json = project::json(&outcome);
    Report::new(outcome.text, json)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
