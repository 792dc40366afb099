//! Tables as text.

use std::ops::Range;

/// Cells in aligned columns; those of `numbers` are right-aligned. A line may have fewer cells.
pub(crate) fn lines_up<L: AsRef<[String]>>(lines: &[L], numbers: Range<usize>) -> String {
    let columns = lines.iter().map(|line| line.as_ref().len()).max();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.unwrap_or(0)).map(width).collect();
    let row = |line: &L| {
        let cells = line.as_ref().iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match numbers.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(row).collect::<Vec<_>>().join("\n")
}
