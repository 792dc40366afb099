//! `blockwise new` and `blockwise init`.

use blockwise_new::{Error, Init, New, Outcome};
use serde_json::json;

use super::failure::Failure;
use super::report::Report;

/// Makes a project.
pub(super) fn run(arguments: &New) -> Result<Report, Failure> {
    Ok(report(arguments.run()?))
}

/// Adds a kernel to a project.
pub(super) fn init(arguments: &Init) -> Result<Report, Failure> {
    Ok(report(arguments.run()?))
}

fn report(outcome: Outcome) -> Report {
    Report::new(
        outcome.text,
        json!({
            "folder": outcome.folder,
            "package": outcome.package,
            "blockwise": outcome.blockwise,
            "files": outcome.files,
        }),
    )
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
