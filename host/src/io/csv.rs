//! Comma-separated numbers.
//!
//! One column or one row is a vector, and a matrix where one is wanted; anything else is a matrix.
//! A first row of names (each cell begins with a letter or `_`, and is none of the words for a
//! missing number) is a header and is left out. Every other cell is a number, `NaN` or `inf`; all
//! rows are of one length. Blank lines are skipped. Numbers are float64, and an integer that is
//! none is refused.

use std::fmt::Debug;
use std::io::Write;

use super::array::ArrayReader;
use super::error::Problem;
use super::number::Stored;

/// Opens a vector or a matrix.
pub(super) fn open(bytes: &[u8]) -> Result<ArrayReader, Problem> {
    let (rows, columns, values) = decode(bytes)?;
    let shape = if rows == 1 || columns == 1 {
        vec![values.len()]
    } else {
        vec![rows, columns]
    };
    let elements: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
    Ok(ArrayReader::new(shape, Stored::F64, elements.into(), 0).with_matrix([rows, columns]))
}

/// Rows, columns, and the numbers in row-major order.
fn decode(bytes: &[u8]) -> Result<(usize, usize, Vec<f64>), Problem> {
    if bytes.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Problem::new(format!("byte {} is not UTF-8 text", error.valid_up_to()))
            .hint("is this really a .csv file?")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    // A quote inside of quotes is written twice.
    if text.matches('"').count() % 2 == 1
        && let Some(last) = text.rfind('"')
    {
        let line = text[..last].matches('\n').count() + 1;
        return Err(Problem::new(format!(
            "line {line}: the quote is never closed"
        )));
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let (mut values, mut cols, mut rows) = (Vec::new(), 0, 0);
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| Problem::new(ragged_or(text, &error)))?;
        if index == 0 && record.iter().all(is_name) {
            continue;
        }
        cols = record.len();
        rows += 1;
        for (column, cell) in (1..).zip(&record) {
            values.push(number(cell).map_err(|reason| {
                let line = line_of(text, record.position());
                Problem::new(format!("line {line}, column {column}: {reason}"))
                    .hint("every cell is to be a number; fill or leave out what is missing")
            })?);
        }
    }
    if rows == 0 {
        return Err(Problem::new("there are no numbers in the file"));
    }
    Ok((rows, cols, values))
}

/// Whether a cell of the first row can be a column's name.
fn is_name(cell: &str) -> bool {
    const MISSING: [&str; 6] = ["na", "n/a", "null", "none", "nil", "missing"];
    cell.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && cell.parse::<f64>().is_err()
        && !MISSING.contains(&cell.to_ascii_lowercase().as_str())
}

/// The line of a record, counted from one. The reader's own count stops at blank lines before the
/// record.
fn line_of(text: &str, position: Option<&csv::Position>) -> usize {
    let before = position.map_or(0, |position| position.byte() as usize);
    let blank = text.as_bytes()[before..]
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    let newlines = text[..before + blank]
        .replace("\r\n", "\n")
        .matches(['\r', '\n'])
        .count();
    newlines + 1
}

fn number(cell: &str) -> Result<f64, String> {
    match cell.parse::<f64>() {
        _ if cell.is_empty() => Err("the cell is empty".to_owned()),
        Err(_) if cell.contains([';', '\t']) => Err(format!(
            "`{}` is no number; cells end with a comma",
            shown(cell)
        )),
        Err(_) => Err(format!("`{}` is no number", shown(cell))),
        Ok(value) if is_kept(cell, value) => Ok(value),
        Ok(value) => Err(format!(
            "a float64 would keep `{}` as {value:.0}; integers of this size need .npy, and with a decimal point it is rounded",
            shown(cell)
        )),
    }
}

/// Whether an integer is the same as a float64; other numbers are rounded as everywhere.
fn is_kept(cell: &str, value: f64) -> bool {
    let digits = cell.trim_start_matches(['+', '-']);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    !is_integer || value.abs() < 1e15 || digits.parse() == Ok(value.abs() as u128)
}

/// The beginning of a cell, as a message shows it.
fn shown(cell: &str) -> String {
    let start = cell.chars().take(40);
    start.flat_map(char::escape_debug).collect()
}

fn ragged_or(text: &str, error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = line_of(text, pos.as_ref());
            format!("line {line} has {len} cells, the lines before have {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// How many numbers a line has: one of a vector, a row of a matrix.
pub(super) fn columns(shape: &[usize]) -> Result<usize, String> {
    match *shape {
        [_] => Ok(1),
        [_, columns] => Ok(columns),
        _ => Err(format!(
            "a .csv file holds a vector or a matrix, not an array of shape {shape:?}"
        )),
    }
}

/// Writes whole lines, every number so that it reads back as the same.
pub(super) fn write(
    file: &mut impl Write,
    values: &[impl Debug],
    columns: usize,
) -> std::io::Result<()> {
    for row in values.chunks(columns.max(1)) {
        for (column, value) in row.iter().enumerate() {
            let separator = if column == 0 { "" } else { "," };
            write!(file, "{separator}{value:?}")?;
        }
        writeln!(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shape: [usize; 2], values: &[f64]) {
        let (rows, columns, numbers) = decode(text.as_bytes()).unwrap();
        assert_eq!([rows, columns], shape);
        let bits = |values: &[f64]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&numbers), bits(values), "{numbers:?}");
    }

    #[track_caller]
    fn check_refused(text: &[u8], expected: &str) {
        let problem = decode(text).unwrap_err();
        assert!(problem.what.contains(expected), "{}", problem.what);
    }

    #[test]
    fn rows_columns_matrices_and_headers() {
        check("1\n2.5\n-3e2\n", [3, 1], &[1.0, 2.5, -300.0]);
        check("1, 2,3\n", [1, 3], &[1.0, 2.0, 3.0]);
        check("a,b\n1,2\n3,4\n", [2, 2], &[1.0, 2.0, 3.0, 4.0]);
        check("\u{feff}x\r\n1\r\n2\r\n", [2, 1], &[1.0, 2.0]);
        check("_t\n\n1\n\n", [1, 1], &[1.0]);
    }

    #[test]
    fn bad_cells_are_named_by_line_and_column() {
        check_refused(b"1,2\n3,x\n", "line 2, column 2: `x` is no number");
        check_refused(b"1,2\n,4\n", "line 2, column 1: the cell is empty");
        check_refused(b"1\n\n\nx\n", "line 4, column 1: `x` is no number");
        check_refused(b"\r\n\r\n1\r\n2,3\r\n", "line 4 has 2 cells");
        check_refused(b"1,\"2\n3\"\n", "line 1, column 2: `2\\n3` is no number");
        check_refused(b"1,2\n3\n", "line 2 has 1 cells, the lines before have 2");
        check_refused(b"", "empty");
        check_refused(b"1;2\n", "`1;2` is no number; cells end with a comma");
        // What could be a number gone wrong is no header.
        for first in ["0x10", "n/a", "1;2", "-", "\"\""] {
            check_refused(format!("{first}\n1\n").as_bytes(), "line 1, column 1");
        }
        check_refused(b"\"a,b\n1,2\n3,4\n", "line 1: the quote is never closed");
        check_refused(b"1,2\n3,\"4\n5,6\n", "line 2: the quote is never closed");
        check_refused(b"name\n", "no numbers");
        check_refused(b"1\n\xff\n", "byte 2 is not UTF-8");
    }

    #[test]
    fn what_is_written_reads_back() {
        let values = [0.1, 1e-300, f64::MAX, -0.0, f64::NAN, f64::NEG_INFINITY];
        for shape in [[2, 3], [1, 6], [6, 1]] {
            let mut text = Vec::new();
            write(&mut text, &values, columns(&shape).unwrap()).unwrap();
            check(std::str::from_utf8(&text).unwrap(), shape, &values);
        }
        let mut text = Vec::new();
        write(&mut text, &[1_i64, -2], columns(&[2]).unwrap()).unwrap();
        assert_eq!(text, b"1\n-2\n");
        assert!(columns(&[2, 2, 2]).is_err());
    }
}
