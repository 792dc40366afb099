//! One cell: its number, or what to write in its place.

/// The cell that makes a first row of names one of numbers instead: letters took the place of
/// digits in it. Beside words a letter and digits are a name too (`time,O2`), with a point never.
pub(super) fn mistyped(row: &csv::StringRecord) -> Option<&str> {
    let is_mistyped = |cell: &str| {
        let digits = cell.replace(['O', 'o'], "0").replace(['l', 'I'], "1");
        cell.contains(|character: char| character.is_ascii_digit()) && digits.parse::<f64>().is_ok()
    };
    let beside_words = row.iter().any(|cell| !is_mistyped(cell));
    row.iter()
        .find(|cell| is_mistyped(cell) && (cell.contains('.') || !beside_words))
}

/// Whether a cell of the first row can be a column's name.
pub(super) fn is_name(cell: &str) -> bool {
    const NO_NAMES: [&str; 14] = [
        "na", "n/a", "null", "none", "nil", "missing", "nothing", "nat", "inf32", "inf16", "nan32",
        "nan16", "true", "false",
    ];
    cell.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && cell.parse::<f64>().is_err()
        && !NO_NAMES.contains(&cell.to_ascii_lowercase().as_str())
}

pub(super) fn number(cell: &str) -> Result<f64, String> {
    match cell.parse::<f64>() {
        _ if cell.is_empty() => Err("the cell is empty".to_owned()),
        Err(_) => Err(format!("`{}` is no number", shown(cell))),
        Ok(value) if value.is_infinite() && cell.contains(|c: char| c.is_ascii_digit()) => {
            let most = f64::MAX;
            Err(format!("`{}` is beyond float64's {most:e}", shown(cell)))
        }
        Ok(value) => Ok(value),
    }
}

pub(super) const SEPARATOR: &str =
    "cells end with a comma: numpy.savetxt(.., delimiter=','), R's write.csv, not write.csv2";

/// What to do about a cell that is not a number.
pub(super) fn advice(cell: &str) -> &'static str {
    let is_part = |last| cell.trim_end_matches(')').ends_with(last);
    if cell.starts_with('%') {
        "begin a comment with `#`"
    } else if cell.contains('\0') {
        "it looks like UTF-16: save it as UTF-8"
    } else if cell.parse::<f64>().is_ok_and(f64::is_infinite) {
        "scale the numbers"
    } else if cell.contains(".#") {
        "write numbers that are not finite as inf, -inf and nan"
    } else if cell.starts_with("sep=") {
        "leave this line out: only Excel reads it"
    } else if cell.contains(['+', '-']) && (is_part("i") || is_part("j") || is_part("im")) {
        "complex numbers: write their real and their imaginary parts into files of their own"
    } else if cell.contains([';', '\t', ' ', '|']) {
        SEPARATOR
    } else if cell.replacen(',', ".", 1).parse::<f64>().is_ok() {
        "write numbers with a decimal point, and nothing between thousands"
    } else if ["true", "false"].contains(&cell.to_ascii_lowercase().as_str()) {
        "write 1 and 0"
    } else if cell.contains(|character: char| character.is_ascii_digit()) {
        "write numbers as -1.5 or 2e-3: no units, no other signs, no dates"
    } else {
        "every cell is to be a number; fill or leave out what is missing"
    }
}

/// Whether float64 represents an integer exactly. Other numbers may be rounded, as everywhere.
pub(super) fn is_kept(cell: &str, value: f64) -> bool {
    let digits = cell.trim_start_matches(['+', '-']);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    !is_integer || value.abs() < 1e15 || digits.parse() == Ok(value.abs() as u128)
}

/// The beginning of a cell, as a message shows it.
pub(super) fn shown(cell: &str) -> String {
    let start = cell.chars().take(40);
    start.flat_map(char::escape_debug).collect()
}
