//! Comma-separated numbers.
//!
//! One column or one row is a vector, or a matrix where an operation needs one; anything else is a
//! matrix. `#` begins a comment, as for `numpy.loadtxt`. A first row of names (each cell begins
//! with a letter or `_`, and is not a word for a missing number) is a header, which is skipped with
//! a notice. Every other cell is a number, `NaN` or `inf`; all rows have the same length. Blank
//! lines are skipped. Numbers are float64. If all are integers and float64 cannot represent one of
//! them, they are int64, or uint64 if int64 cannot represent them all.
//!
//! An array without elements is a comment: `# shape (0, 3)`.

mod cell;
mod text;

use std::fmt::Debug;
use std::io::Write;

use blockwise::Type;

use self::cell::{SEPARATOR, advice, is_kept, is_name, mistyped, number, shown};
use self::text::{line_of, no_text, without_comments};
use super::array::ArrayReader;
use super::error::Problem;
use super::memory;

pub(super) use self::text::begins;

/// Opens a vector or a matrix.
pub(super) fn open(bytes: &[u8]) -> Result<ArrayReader, Problem> {
    let table = decode(bytes)?;
    let shape = match table.shape {
        [rows, columns] if (rows == 1 || columns == 1) && !table.is_matrix => vec![rows * columns],
        [rows, columns] => vec![rows, columns],
    };
    let (stored, elements): (_, Vec<u8>) = match table.values {
        Values::Floats(values) => {
            let bytes = values.into_iter().flat_map(f64::to_le_bytes);
            (Type::F64, bytes.collect())
        }
        Values::Integers(values) => {
            let bytes = values.into_iter().flat_map(i64::to_le_bytes);
            (Type::I64, bytes.collect())
        }
        Values::Unsigned(values) => {
            let bytes = values.into_iter().flat_map(u64::to_le_bytes);
            (Type::U64, bytes.collect())
        }
    };
    let array = ArrayReader::new(shape, stored, elements.into(), 0);
    Ok((array.with_matrix(table.shape)).with_notices(table.notices))
}

/// What a text holds.
#[derive(Debug)]
struct Table {
    /// Rows and columns.
    shape: [usize; 2],
    /// A matrix also if it has one row or one column.
    is_matrix: bool,
    values: Values,
    notices: Vec<String>,
}

/// The numbers in row-major order.
#[derive(Debug)]
enum Values {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
}

fn decode(bytes: &[u8]) -> Result<Table, Problem> {
    if bytes.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| no_text(bytes, error))?;
    let text = text.trim_start_matches('\u{feff}');
    // Of three types, in vectors that grow by doubling.
    const NUMBER: usize = 3 * 8 * 2;
    let cells = 1 + bytes.iter().filter(|&byte| b",\n".contains(byte)).count();
    if (cells as u64).saturating_mul(NUMBER as u64) > memory::available() {
        let what = format!("there is no memory for {cells} numbers of text");
        return Err(Problem::new(what).hint(super::TOO_LONG_A_TEXT));
    }
    let plain = without_comments(text);
    let (text, has_comments) = (&*plain, matches!(plain, std::borrow::Cow::Owned(_)));
    // A quote inside quotes is doubled.
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
    let (mut values, mut integers, mut unsigned) = (Vec::new(), Some(Vec::new()), Some(Vec::new()));
    let (mut columns, mut rows, mut notices) = (0, 0, Vec::new());
    // The first integer that float64 cannot represent.
    let mut too_long = None;
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| ragged_or(text, has_comments, &error))?;
        let line = || line_of(text, record.position());
        if index == 0
            && record.get(0) == Some("")
            && record.len() > 1
            && record.iter().skip(1).all(is_name)
        {
            return Err(Problem::new(format!(
                "line {} names all columns but the first, so that one holds the rows' names",
                line()
            ))
            .hint("leave them out: R's `write.csv(x, 'x.csv', row.names = FALSE)`, pandas' `index=False`"));
        }
        if index == 0 && record.iter().all(is_name) {
            if let Some(cell) = mistyped(&record) {
                return Err(Problem::new(format!(
                    "line {}: `{}` looks like a number with a letter in it",
                    line(),
                    shown(cell)
                ))
                .hint("mend it; if the line is a header, begin it with `#`"));
            }
            let cells: Vec<_> = record.iter().take(8).map(shown).collect();
            notices.push(format!(
                "line {} is taken for a header and left out: {}",
                line(),
                cells.join(",")
            ));
            continue;
        }
        columns = record.len();
        rows += 1;
        for (column, cell) in (1..).zip(&record) {
            let place = |reason: String| {
                Problem::new(format!("line {}, column {column}: {reason}", line()))
            };
            let value = number(cell).map_err(|reason| place(reason).hint(advice(cell)))?;
            if !is_kept(cell, value) && too_long.is_none() {
                too_long = Some(place(format!(
                    "a float64 would keep `{}` as {value:.0}, and integers of this size need a file of int64 or of uint64 only",
                    shown(cell)
                ))
                .hint("write all of them as integers of one of these types, or the large ones into a file of their own"));
            }
            push_parsed(&mut integers, cell);
            push_parsed(&mut unsigned, cell);
            values.push(value);
        }
    }
    let values = match (too_long, integers, unsigned) {
        (None, ..) => Values::Floats(values),
        (Some(_), Some(integers), _) => Values::Integers(integers),
        (Some(_), None, Some(unsigned)) => Values::Unsigned(unsigned),
        (Some(problem), None, None) => return Err(problem),
    };
    if rows > 0 {
        let (shape, is_matrix) = ([rows, columns], false);
        return Ok(Table {
            shape,
            is_matrix,
            values,
            notices,
        });
    }
    match empty_shape(bytes) {
        Some((shape, is_matrix)) => Ok(Table {
            shape,
            is_matrix,
            values,
            notices,
        }),
        None => Err(Problem::new("there are no numbers in the file")),
    }
}

/// Adds a cell to numbers of one type, or gives them up.
fn push_parsed<T: std::str::FromStr>(numbers: &mut Option<Vec<T>>, cell: &str) {
    *numbers = numbers.take().and_then(|mut numbers| {
        numbers.push(cell.trim_start_matches('+').parse().ok()?);
        Some(numbers)
    });
}

/// How an array without elements is written.
pub(super) fn empty(shape: &[usize]) -> String {
    match shape {
        [length] => format!("# shape ({length},)\n"),
        _ => format!(
            "# shape ({})\n",
            shape
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// The shape of an array without elements, and whether it is a matrix.
fn empty_shape(bytes: &[u8]) -> Option<([usize; 2], bool)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let shape = text.trim().strip_prefix("# shape (")?.strip_suffix(')')?;
    let lengths = shape.trim_end_matches(',').split(',');
    let lengths: Option<Vec<usize>> = lengths.map(|length| length.trim().parse().ok()).collect();
    match lengths?[..] {
        [0] => Some(([0, 1], false)),
        [rows, columns] if rows == 0 || columns == 0 => Some(([rows, columns], true)),
        _ => None,
    }
}

fn ragged_or(text: &str, has_comments: bool, error: &csv::Error) -> Problem {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = line_of(text, pos.as_ref());
            let cells = if *len == 1 { "cell" } else { "cells" };
            let problem = Problem::new(format!(
                "line {line} has {len} {cells}, the lines before have {expected_len}"
            ));
            match text.contains(';') {
                // A spreadsheet whose decimal sign is the comma.
                true => problem.hint(SEPARATOR),
                false if has_comments => problem
                    .hint("a `#` outside quotes begins a comment: quote a cell that contains one"),
                false => problem,
            }
        }
        _ => Problem::new(error.to_string()),
    }
}

/// The numbers per line: one for a vector, a row for a matrix.
pub(super) fn columns(shape: &[usize]) -> Result<usize, String> {
    match *shape {
        [_] => Ok(1),
        [_, columns] => Ok(columns),
        _ => Err(format!(
            "a .csv file holds a vector or a matrix, not an array of shape {shape:?}"
        )),
    }
}

/// Writes lines of `columns` numbers, each such that it reads back exactly. `column` numbers of the
/// first line are already written.
pub(super) fn write(
    file: &mut impl Write,
    values: &[impl Debug],
    columns: usize,
    column: &mut usize,
) -> std::io::Result<()> {
    for value in values {
        let separator = if *column == 0 { "" } else { "," };
        write!(file, "{separator}{value:?}")?;
        *column += 1;
        if *column >= columns {
            writeln!(file)?;
            *column = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shape: [usize; 2], values: &[f64]) {
        let table = decode(text.as_bytes()).unwrap();
        assert_eq!(table.shape, shape);
        let Values::Floats(numbers) = table.values else {
            panic!("{text} has integers");
        };
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
        check_refused(b"1,2\n3\n", "line 2 has 1 cell, the lines before have 2");
        check_refused(b"", "empty");
        check_refused(b"1;2\n", "`1;2` is no number");
        for (text, hint) in [
            ("1;2\n", "cells end with a comma"),
            ("\u{feff}x;y\r\n1,5;2,5\r\n", "cells end with a comma"),
            ("1\t2\n", "cells end with a comma"),
            ("\"1,5\"\n", "decimal point"),
            ("n/a\n", "every cell"),
            ("\"1,234\"\n", "between thousands"),
            ("TRUE\nFALSE\n", "1 and 0"),
            ("1.5D+02\n", "2e-3"),
            ("$5\n", "no units"),
            ("2024-01-01,1\n", "no dates"),
            ("\u{2212}5\n", "no other signs"),
            ("18446744073709551615\n-1\n", "a file of their own"),
            ("% written by hand\n1\n", "`#`"),
            ("1|2\n", "cells end with a comma"),
            ("1e400\n", "scale"),
            ("1+2i\n", "imaginary"),
            ("1.0 + 2.0im\n", "imaginary"),
            ("sep=,\n1,2\n", "only Excel"),
            ("1\n1.#INF\n", "as inf"),
            ("run #,level\n1,2\n", "quote a cell"),
            ("(1.5e+00-2.0e+00j)\n", "imaginary"),
            ("\u{0}1\u{0}\n", "UTF-16"),
            ("\"\",\"x\"\n\"1\",2\n", "row.names = FALSE"),
        ] {
            let problem = decode(text.as_bytes()).unwrap_err();
            assert!(
                problem.hint.is_some_and(|advice| advice.contains(hint)),
                "{text}: {problem:?}"
            );
        }
        check_refused(b"1\n#DIV/0!\n2\n", "line 2, column 1: `#DIV/0!`");
        check_refused(b"1,#N/A\n", "line 1, column 2: `#N/A`");
        for cell in ["1.#INF", "-1.#IND00", "1.#QNAN", "nothing", "NaN32", "NaT"] {
            let place = format!("line 1, column 1: `{cell}`");
            check_refused(format!("{cell}\n2\n").as_bytes(), &place);
        }
        check_refused(b"1\n-1e400\n", "`-1e400` is beyond float64's 1.79");
        check(
            "inf,-Infinity\n",
            [1, 2],
            &[f64::INFINITY, f64::NEG_INFINITY],
        );
        check_refused(b"TRUE\nFALSE\n", "line 1, column 1: `TRUE`");
        // A mistyped number is not a header.
        for first in ["0x10", "n/a", "1;2", "-", "\"\""] {
            check_refused(format!("{first}\n1\n").as_bytes(), "line 1, column 1");
        }
        check_refused(b"\"a,b\n1,2\n3,4\n", "line 1: the quote is never closed");
        check_refused(b"1,2\n3,\"4\n5,6\n", "line 2: the quote is never closed");
        check_refused(b"name\n", "no numbers");
        check_refused(b"1\n\xff\n", "byte 2 is not UTF-8");
        let hint = decode(&[0x10, 0, 0x80, 0xFF]).unwrap_err().hint;
        assert!(hint.is_some_and(|hint| hint.contains("sox -t raw")));
    }

    #[test]
    fn first_bytes_are_text_or_not() {
        let cut = &"# é".as_bytes()[..3];
        for text in [b"", cut, b"\0", b"1\0"] {
            assert!(begins(text).is_ok(), "{text:?}");
        }
        for (bytes, expected) in [(&b"\0\0\0"[..], "zeros"), (b"1\xC0,", "byte 1 is not")] {
            let problem = begins(bytes).unwrap_err();
            assert!(problem.what.contains(expected), "{}", problem.what);
        }
    }

    #[test]
    fn comments_are_left_out() {
        check("# a,b\n1,2\n3,4 # last\n#\n", [2, 2], &[1.0, 2.0, 3.0, 4.0]);
        check("#\"x\"\n 1\n", [1, 1], &[1.0]);
        check(
            "  # a\r\n1,2\r\n \t# b\r\n3,4\r\n",
            [2, 2],
            &[1.0, 2.0, 3.0, 4.0],
        );
        check_refused(b"# only\n#2\n", "no numbers");
        check_refused(b"# one\n1\n\nx#\n", "line 4, column 1");
    }

    #[test]
    fn a_header_is_quoted_and_a_number_mistyped_is_none() {
        let table = decode(b"time,level\n1,2\n").unwrap();
        assert_eq!(
            table.notices,
            ["line 1 is taken for a header and left out: time,level"]
        );
        assert_eq!(table.shape, [1, 2]);
        for cell in ["O.5", "l.5", "I0", "o1e3", "_x,O.5", "1O", "O2,l5"] {
            let problem = decode(format!("{cell}\n1.5\n").as_bytes()).unwrap_err();
            assert!(
                problem.what.starts_with("line 1"),
                "{cell}: {}",
                problem.what
            );
        }
        for cell in [
            "I", "Oil", "l", "x1", "level 5", "time,O2", "l1,left", "I0,x,O3",
        ] {
            let row = vec!["1.5"; cell.split(',').count()].join(",");
            let table = decode(format!("{cell}\n{row}\n").as_bytes()).unwrap();
            assert_eq!(table.notices.len(), 1, "{cell}");
        }
    }

    #[test]
    fn integers_beyond_float64_are_int64_where_all_are_integers() {
        let table = decode(b"9007199254740993\n-9223372036854775808\n+7\n").unwrap();
        let Values::Integers(values) = table.values else {
            panic!("{table:?}")
        };
        assert_eq!(values, [9_007_199_254_740_993, i64::MIN, 7]);
        check("9007199254740992\n", [1, 1], &[9_007_199_254_740_992.0]);
        check_refused(
            b"9007199254740993\n0.5\n",
            "line 1, column 1: a float64 would keep",
        );
        check_refused(
            b"-1\n18446744073709551615\n",
            "line 2, column 1: a float64 would keep",
        );
        let table = decode(b"0\n18446744073709551615\n").unwrap();
        let Values::Unsigned(values) = table.values else {
            panic!("{table:?}")
        };
        assert_eq!(values, [0, u64::MAX]);
    }

    #[test]
    fn arrays_without_elements_read_back() {
        for (shape, text) in [
            (vec![0], "# shape (0,)\n"),
            (vec![0, 3], "# shape (0, 3)\n"),
            (vec![2, 0], "# shape (2, 0)\n"),
        ] {
            assert_eq!(empty(&shape), text);
            assert_eq!(open(text.as_bytes()).unwrap().shape(), shape);
        }
        for text in ["# shape (2,)", "# shape (1, 3)", "# shape (x)", "#"] {
            check_refused(text.as_bytes(), "no numbers");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let values = [0.1, 1e-300, f64::MAX, -0.0, f64::NAN, f64::NEG_INFINITY];
        for shape in [[2, 3], [1, 6], [6, 1]] {
            let mut text = Vec::new();
            write(&mut text, &values, columns(&shape).unwrap(), &mut 0).unwrap();
            check(std::str::from_utf8(&text).unwrap(), shape, &values);
        }
        let mut text = Vec::new();
        write(&mut text, &[1_i64, -2], columns(&[2]).unwrap(), &mut 0).unwrap();
        assert_eq!(text, b"1\n-2\n");
        assert!(columns(&[2, 2, 2]).is_err());
    }
}
