//! Reports of checks: as text for people, as JSON for programs, as SARIF for code-scanning
//! services.
//!
//! ```
//! # use ptx_emulator::{CheckReport, Statistics};
//! use ptx_emulator::report::{self, Sources, Style};
//! # let checks = [CheckReport {
//! #     kernel: "saxpy".to_owned(),
//! #     findings: Vec::new(),
//! #     dropped: 0,
//! #     notices: Vec::new(),
//! #     schedules: 1,
//! #     statistics: Statistics::default(),
//! # }];
//! let text = report::text(&checks, &Sources::new(), Style::Plain);
//! assert!(text.ends_with("========= ERROR SUMMARY: 0 errors\n"));
//! ```
//!
//! All formats take any number of checks, so that one document can cover a whole test run.

mod excerpt;
mod json;
mod sarif;
mod sources;
mod text;

pub use json::{Document, JSON_VERSION, LeftOut, json};
pub use sarif::{sarif, sarif_merged};
pub use sources::Sources;
pub use text::{Style, text};

use crate::sanitize::{CheckReport, Severity};

/// Number of findings with this severity in all checks.
fn count(checks: &[CheckReport], severity: Severity) -> usize {
    checks.iter().map(|check| check.count(severity)).sum()
}
