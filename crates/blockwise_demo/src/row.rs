//! The rows of a demo's table.

use std::time::Duration;

use blockwise::Device;
use blockwise_ops::Execution;
use blockwise_ops::compare::Comparison;
use serde::Serialize;

/// One experiment: a kernel, a size, a device, and whether the result was right.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was computed, and where it comes from.
    pub experiment: String,
    /// The kernel that ran.
    pub kernel: String,
    /// The size, in words.
    pub size: String,
    /// The device's name.
    pub device: String,
    /// Seconds from launch to end, without copies.
    pub seconds: f64,
    /// Seconds of the whole check: inputs, copies, launch, reference result, comparison.
    pub check_seconds: f64,
    /// Largest absolute error.
    pub max_error: f64,
    /// The largest error that passes.
    pub tolerance: f64,
    /// Whether the error is within it.
    pub pass: bool,
}

impl Row {
    /// A row for an array and its reference.
    pub(super) fn compared(
        experiment: &str,
        size: impl Into<String>,
        device: &Device,
        execution: &Execution,
        comparison: &Comparison,
    ) -> Self {
        Row {
            experiment: experiment.to_owned(),
            kernel: execution.plan.kernel.to_owned(),
            size: size.into(),
            device: device.properties().name.clone(),
            seconds: execution.elapsed.as_secs_f64(),
            check_seconds: 0.0,
            max_error: comparison.max_absolute_error,
            tolerance: comparison.max_tolerance,
            pass: comparison.passed(),
        }
    }

    /// A row for one number and its closed form. NaN does not pass.
    pub(super) fn number(
        &self,
        experiment: impl Into<String>,
        value: f64,
        expected: f64,
        tolerance: f64,
    ) -> Self {
        let error = (value - expected).abs();
        Row {
            experiment: experiment.into(),
            max_error: error,
            tolerance,
            pass: error <= tolerance,
            ..self.clone()
        }
    }
}

/// The rows as an aligned table.
pub fn table(rows: &[Row]) -> String {
    let header = [
        "experiment",
        "kernel",
        "size",
        "launch",
        "check",
        "max error",
        "tolerance",
        "",
    ]
    .map(str::to_owned);
    let cells: Vec<[String; 8]> = std::iter::once(header)
        .chain(rows.iter().map(|row| {
            [
                row.experiment.clone(),
                row.kernel.clone(),
                row.size.clone(),
                time(Duration::from_secs_f64(row.seconds)),
                time(Duration::from_secs_f64(row.check_seconds)),
                format!("{:.1e}", row.max_error),
                format!("{:.1e}", row.tolerance),
                if row.pass {
                    "pass".to_owned()
                } else {
                    "FAIL".to_owned()
                },
            ]
        }))
        .collect();
    let width = |column: usize| {
        cells
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..8).map(width).collect();
    let line = |row: &[String; 8]| {
        let padded = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                // Numbers to the right.
                if (3..7).contains(&column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A time in a suitable unit.
pub(super) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            experiment: "sum".into(),
            kernel: "sum_tree_f32".into(),
            size: "10".into(),
            device: "emulator".into(),
            seconds: 0.0025,
            check_seconds: 0.4,
            max_error: 0.0,
            tolerance: 1e-6,
            pass: true,
        }
    }

    #[test]
    fn a_number_passes_within_its_tolerance_only_and_nan_never() {
        assert!(row().number("x", 1.0, 1.1, 0.2).pass);
        assert!(!row().number("x", 1.0, 1.3, 0.2).pass);
        assert!(!row().number("x", f64::NAN, 1.0, f64::INFINITY).pass);
    }

    #[test]
    fn the_table_names_time_and_verdict() {
        let text = table(&[
            row(),
            Row {
                pass: false,
                ..row()
            },
        ]);
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.contains("2.50 ms")
                && text.contains("400.00 ms")
                && text.contains("pass")
                && text
                    .lines()
                    .nth(2)
                    .is_some_and(|line| line.ends_with("FAIL")),
            "{text}"
        );
    }
}
