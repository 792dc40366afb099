//! The output of a command, as text and as JSON.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use blockwise_ops::compare::Comparison;
use serde_json::{Map, Value, json};

use crate::io;

/// The outcome of a command.
pub(super) struct Report {
    text: String,
    /// `None` if the text already has the requested format.
    json: Option<Map<String, Value>>,
    passed: bool,
}

impl Report {
    /// The text, and the same as JSON.
    pub(super) fn new(text: impl Into<String>, json: Value) -> Self {
        let json = match json {
            Value::Object(map) => map,
            other => Map::from_iter([("result".to_owned(), other)]),
        };
        Report {
            text: text.into(),
            json: Some(json),
            passed: true,
        }
    }

    /// A text that is printed unchanged, also with `--json`: it is then JSON itself.
    pub(super) fn document(text: impl Into<String>) -> Self {
        Report {
            text: text.into(),
            json: None,
            passed: true,
        }
    }

    /// No report: standard output has other contents.
    pub(super) fn silent() -> Self {
        Report::document("")
    }

    /// Marks the command as failed: exit code 1.
    pub(super) fn passed(mut self, passed: bool) -> Self {
        self.passed = passed;
        self.insert("pass", passed.into());
        self
    }

    /// Adds a comparison with the reference of this name.
    pub(super) fn comparison(mut self, name: &str, comparison: &Comparison) -> Self {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&describe(name, comparison));
        self.insert("reference", json!(name));
        self.insert("comparison", json!(comparison));
        self.passed(comparison.passed())
    }

    /// Adds a value that appears only in JSON.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.insert(name, value);
        self
    }

    fn insert(&mut self, name: &str, value: Value) {
        if let Some(json) = &mut self.json {
            json.insert(name.to_owned(), value);
        }
    }

    pub(super) fn print(self, json: bool) -> ExitCode {
        let text = match self.json {
            Some(map) if json => Value::Object(map).to_string(),
            _ => self.text,
        };
        if !text.is_empty() && !line(&text) {
            return ExitCode::from(2);
        }
        ExitCode::from(if self.passed { 0 } else { 1 })
    }
}

/// The report of an array that was written.
pub(super) fn made(
    command: &str,
    output: &Path,
    device: &str,
    shape: &[usize],
    of: &str,
) -> Report {
    let text = format!("{}: {shape:?} {of}", output.display());
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": shape, "type": of, "device": device });
    Report::new(text, json)
}

fn describe(name: &str, comparison: &Comparison) -> String {
    let verdict = if comparison.passed() {
        "agrees with"
    } else {
        "DIFFERS from"
    };
    let mut text = format!(
        "{verdict} {name}: {} {}, max abs error {:.3e} (tolerance {:.3e}), max relative {:.3e}{}, RMS {:.3e}",
        comparison.elements,
        if comparison.elements == 1 {
            "element"
        } else {
            "elements"
        },
        comparison.max_absolute_error,
        comparison.max_tolerance,
        comparison.max_relative_error,
        match comparison.zeros {
            0 => String::new(),
            zeros => format!(" ({zeros} that are 0 in both left out)"),
        },
        comparison.rms_error
    );
    if let Some(first) = &comparison.first_mismatch {
        let index: Vec<String> = first.index.iter().map(usize::to_string).collect();
        text.push_str(&format!(
            "\n{}: {:e}, reference {:e}, tolerance {:.3e}",
            match index[..] {
                [] => "the value".to_owned(),
                _ => format!(
                    "{} of them differ; first at index [{}]",
                    comparison.mismatches,
                    index.join(", ")
                ),
            },
            first.result,
            first.reference,
            first.tolerance
        ));
    }
    if !comparison.bound.is_empty() {
        text.push_str(&format!("\nbound: {}", comparison.bound));
    }
    text
}

/// A line on standard output, or on standard error if an output goes to standard output; false if
/// it cannot be written. A reader that went away (`| head`) is not an error.
pub(super) fn line(text: &str) -> bool {
    if io::standard_output_is_taken() {
        note(text);
        return true;
    }
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            note(&format!("error: cannot write to standard output: {error}"));
            false
        }
        _ => true,
    }
}

/// Whether notices and progress are suppressed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notices and progress from now on.
pub(super) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
    io::without_notes();
}

pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line on standard error that requires no action.
pub(super) fn notice(text: &str) {
    if !is_quiet() {
        note(text);
    }
}

/// A line on standard error.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
