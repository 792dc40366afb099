//! All results of a run, for people and for machines.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::row::HEADING;
use super::{Ceilings, OURS, Row, Run, Summary};
use crate::table::lines_up;

/// All results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where, when and with what inputs.
    pub run: Run,
    /// The device's limits.
    pub ceilings: Ceilings,
    /// One per implementation and work.
    pub rows: Vec<Row>,
    /// Of shapes drawn at random: how they compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

impl Report {
    /// Whether every result of ours was correct. A missing or wrong peer is a row that says so.
    pub fn passed(&self) -> bool {
        let ours = |row: &&Row| row.implementation == OURS;
        self.rows.iter().filter(ours).all(|row| row.passed)
    }

    /// The rows of each work, in the order of the works, the fastest first.
    pub fn by_work(&self) -> Vec<(&str, Vec<&Row>)> {
        let mut works: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in &self.rows {
            match works.iter_mut().find(|(work, _)| *work == row.work) {
                Some((_, rows)) => rows.push(row),
                None => works.push((&row.work, vec![row])),
            }
        }
        let seconds = |row: &&Row| row.timing.map_or(f64::INFINITY, |timing| timing.median);
        for (_, rows) in &mut works {
            rows.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        }
        works
    }

    /// The same table in Markdown, each work's fastest first.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", self.heading().replace('\n', "  \n"));
        if let Some(summary) = &self.summary {
            text.push_str(&format!("```\n{}\n```\n\n", summary.table()));
        }
        let line = |cells: &[String; 13]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&line(&HEADING.map(str::to_owned)));
        text.push_str(&line(&["---"; 13].map(str::to_owned)));
        for (_, rows) in self.by_work() {
            for row in rows {
                text.push_str(&line(&row.cells().map(|cell| cell.replace('|', "\\|"))));
            }
        }
        text
    }

    /// Date, device and its limits.
    fn heading(&self) -> String {
        format!(
            "{}\ncopy {:.0} GB/s, FMA {:.2} TFLOP/s",
            self.run.heading(),
            self.ceilings.copy_bytes_per_second / 1e9,
            self.ceilings.fma_per_second / 1e12
        )
    }

    /// The table's lines of some rows.
    ///
    /// # Panics
    /// If the range ends after the last row.
    pub fn lines(&self, rows: Range<usize>) -> String {
        let lines: Vec<_> = self.rows[rows].iter().map(Row::cells).collect();
        lines_up(&lines, 3..11)
    }

    /// A table for a terminal; for shapes drawn at random, their summary.
    pub fn table(&self) -> String {
        if let Some(summary) = &self.summary {
            let wrong = self.rows.iter().filter(|row| !row.passed);
            let wrong = wrong.map(|row| format!("\n{}: {}: {}", row.work, row.rung, row.check));
            let wrong = wrong.collect::<String>();
            return format!("{}\n{}{wrong}", self.heading(), summary.table());
        }
        let mut lines = vec![HEADING.map(str::to_owned)];
        lines.extend(self.rows.iter().map(Row::cells));
        self.heading() + "\n" + &lines_up(&lines, 3..11)
    }
}
