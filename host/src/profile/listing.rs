//! The source with each line's costs in front of it.

use std::collections::BTreeMap;

use ptx_emulator::metrics::Counters;
use ptx_emulator::report::Sources;

use super::KernelReport;
use super::text::{COSTS, Row, aligned, costs, remarks, short};

/// Lines without costs that are shown around those that have some.
const CONTEXT: u32 = 2;

/// A kernel's source, file by file, from the first to the last executed line. Instructions without
/// a source line are shown in the PTX text, `ptx`.
pub fn listing(kernel: &KernelReport, sources: &Sources, ptx: &str) -> String {
    let mut files: BTreeMap<Option<String>, BTreeMap<u32, Counters>> = BTreeMap::new();
    for line in kernel.profile.lines() {
        files
            .entry(line.file)
            .or_default()
            .insert(line.line, line.counters);
    }
    let file = |(file, lines): (&Option<String>, &BTreeMap<u32, Counters>)| match file {
        None => format!(
            "{} in the PTX, instructions without a source line:\n{}",
            kernel.name,
            annotated(ptx, lines)
        ),
        Some(file) => {
            let heading = format!("{} in {}:\n", kernel.name, short(file));
            match sources.text(file) {
                Some(text) => heading + &annotated(&text, lines),
                // The costs are shown even without the source.
                None => format!("{heading}({file} is not found)\n{}", annotated("", lines)),
            }
        }
    };
    files.iter().map(file).collect::<Vec<_>>().join("\n\n")
}

fn annotated(text: &str, lines: &BTreeMap<u32, Counters>) -> String {
    let text: Vec<&str> = text.lines().collect();
    let mut header = vec!["line".to_owned()];
    header.extend(COSTS.map(str::to_owned));
    header.push(String::new());
    let mut rows: Vec<Row> = vec![header];
    let mut shown = 0;
    for &line in lines.keys() {
        let first = line.saturating_sub(CONTEXT).max(1);
        if shown > 0 && first > shown + 1 {
            rows.push(vec!["...".to_owned()]);
        }
        // Lines between two contexts are left out.
        for line in first.max(shown + 1)..=line + CONTEXT {
            let source = text.get(line as usize - 1).copied();
            let counters = lines.get(&line);
            if source.is_some() || counters.is_some() {
                rows.push(row(line, source.unwrap_or(""), counters));
            }
        }
        shown = shown.max(line + CONTEXT);
    }
    aligned(&rows)
}

fn row(line: u32, source: &str, counters: Option<&Counters>) -> Row {
    let mut row = vec![line.to_string()];
    row.extend(counters.map_or([const { String::new() }; COSTS.len()], costs));
    let remarks = counters.map(remarks).filter(|remarks| !remarks.is_empty());
    let remarks = remarks.map_or(String::new(), |remarks| format!("   <- {remarks}"));
    row.push(format!("| {}{remarks}", source.replace('\t', "    ")));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_far_from_any_cost_are_left_out() {
        let text: Vec<String> = (1..=20).map(|line| format!("source {line}")).collect();
        let cost = Counters {
            warp_instructions: 5,
            lane_instructions: 160,
            ..Counters::default()
        };
        let lines = BTreeMap::from([(1, cost.clone()), (4, cost.clone()), (15, cost)]);
        let listing = annotated(&text.join("\n"), &lines);
        let shown: Vec<&str> = listing
            .lines()
            .skip(1)
            .map(|line| line.split(' ').next().unwrap_or(""))
            .collect();
        assert_eq!(
            shown,
            [
                "1", "2", "3", "4", "5", "6", "...", "13", "14", "15", "16", "17"
            ]
        );
        assert!(
            listing
                .lines()
                .nth(4)
                .is_some_and(|line| line.contains("32.00") && line.ends_with("| source 4")),
            "{listing}"
        );
    }
}
