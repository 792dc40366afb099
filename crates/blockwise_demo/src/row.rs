//! The rows of a demo's table.

use std::time::Duration;

use blockwise::Device;
use blockwise_ops::Execution;
use blockwise_ops::compare::Comparison;
use serde::Serialize;

use super::speed::Speed;

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
    /// Seconds from launch to end, without copies: on the emulator by the host's clock, on a GPU by
    /// its own, the mean of several.
    pub seconds: f64,
    /// On a GPU, what it moves or computes in a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
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
            speed: None,
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
            // The row that it follows has it.
            speed: None,
            max_error: error,
            tolerance,
            pass: error <= tolerance,
            ..self.clone()
        }
    }
}

/// A column of the table: its heading, its cell of a row, and whether it holds numbers.
type Column = (&'static str, fn(&Row) -> String, bool);

const COLUMNS: [Column; 9] = [
    ("experiment", |row| row.experiment.clone(), false),
    ("kernel", |row| row.kernel.clone(), false),
    ("size", |row| row.size.clone(), false),
    (
        "launch",
        |row| time(Duration::from_secs_f64(row.seconds)),
        true,
    ),
    (
        SPEED,
        |row| row.speed.map_or(String::new(), |speed| speed.to_string()),
        true,
    ),
    (
        "check",
        |row| time(Duration::from_secs_f64(row.check_seconds)),
        true,
    ),
    ("max error", |row| format!("{:.1e}", row.max_error), true),
    ("tolerance", |row| format!("{:.1e}", row.tolerance), true),
    (
        "",
        |row| if row.pass { "pass" } else { "FAIL" }.to_owned(),
        false,
    ),
];

const SPEED: &str = "speed";

/// The rows as an aligned table; without the speed, where no row has one.
pub fn table(rows: &[Row]) -> String {
    let has_speed = rows.iter().any(|row| row.speed.is_some());
    let shown = COLUMNS
        .iter()
        .filter(|(heading, ..)| has_speed || *heading != SPEED);
    let columns: Vec<(Vec<String>, usize, bool)> = shown
        .map(|&(heading, cell, is_number)| {
            let cells: Vec<_> = std::iter::once(heading.to_owned())
                .chain(rows.iter().map(cell))
                .collect();
            let width = cells
                .iter()
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0);
            (cells, width, is_number)
        })
        .collect();
    let line = |row: usize| {
        let padded = columns.iter().map(|(cells, width, is_number)| {
            let (cell, width) = (&cells[row], *width);
            // Numbers to the right.
            match is_number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    (0..=rows.len()).map(line).collect::<Vec<_>>().join("\n")
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
    use super::super::speed::Unit;
    use super::*;

    fn row() -> Row {
        Row {
            experiment: "sum".into(),
            kernel: "sum_tree_f32".into(),
            size: "10".into(),
            device: "emulator".into(),
            seconds: 0.0025,
            speed: None,
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

    #[test]
    fn the_speed_has_a_column_where_there_is_one() {
        let emulated = table(&[row()]);
        assert!(!emulated.contains("speed"), "{emulated}");
        let speed = Speed {
            per_second: 4.5e12,
            unit: Unit::Bytes,
        };
        let timed = Row {
            speed: Some(speed),
            ..row()
        };
        let text = table(&[timed.clone(), row()]);
        let mut lines = text.lines();
        let heading = lines.next().unwrap_or_default();
        let (first, second) = (
            lines.next().unwrap_or_default(),
            lines.next().unwrap_or_default(),
        );
        let end = heading.find("speed").unwrap_or(0) + "speed".len();
        assert!(first[..end].ends_with("4.50 TB/s"), "{text}");
        assert!(second[..end].ends_with("    "), "{text}");
    }
}
