//! A file as text: what is none, comments, and the lines that messages name.

use std::borrow::Cow;
use std::str::Utf8Error;

use crate::io::error::Problem;

/// Refuses the first bytes of what is no text.
pub(in crate::io) fn begins(start: &[u8]) -> Result<(), Problem> {
    match std::str::from_utf8(start) {
        // A character may be cut at the end.
        Err(error) if error.error_len().is_some() => Err(no_text(start, error)),
        _ if start.len() > 1 && start.iter().all(|&byte| byte == 0) => {
            Err(Problem::new("the file begins with zeros, and a .csv is text").hint(NO_TEXT))
        }
        _ => Ok(()),
    }
}

const NO_TEXT: &str = "samples without a header need `sox -t raw -r RATE -e signed -b BITS -c CHANNELS IN OUT.wav`, numbers `numpy.save('x.npy', numpy.fromfile('IN', dtype))`";

pub(super) fn no_text(bytes: &[u8], error: Utf8Error) -> Problem {
    let problem = Problem::new(format!("byte {} is not UTF-8 text", error.valid_up_to()));
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            problem.hint("it looks like UTF-16: save it as UTF-8")
        }
        // Text, except for some characters.
        _ if !bytes.contains(&0) => {
            problem.hint("save it as UTF-8: `iconv -f latin1 -t utf-8`, if it is Latin-1")
        }
        _ => problem.hint(NO_TEXT),
    }
}

/// The text without comments: what follows a `#` outside quotes. Line numbers do not change.
pub(super) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains('#') {
        return text.into();
    }
    let (mut quoted, mut comment) = (false, false);
    let mut is_kept = |(at, character): &(usize, char)| {
        match character {
            '\n' | '\r' => comment = false,
            '#' if !quoted && !is_fault(&text[..*at], &text[*at..]) => comment = true,
            '"' if !comment => quoted = !quoted,
            _ => {}
        }
        !comment
    };
    let plain: String = text
        .char_indices()
        .filter(|at| is_kept(at))
        .map(|(_, character)| character)
        .collect();
    let lines = plain.split('\n').map(|line| match line.trim() {
        "" => "",
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

/// Whether a text begins with a spreadsheet's error value, or with what older C libraries of
/// Windows write behind `1.` for no finite number.
fn is_fault(before: &str, text: &str) -> bool {
    const FAULTS: [&str; 9] = [
        "#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!",
    ];
    const NOT_FINITE: [&str; 4] = ["#INF", "#IND", "#QNAN", "#SNAN"];
    FAULTS.iter().any(|fault| text.starts_with(fault))
        || before.ends_with('.') && NOT_FINITE.iter().any(|fault| text.starts_with(fault))
}

/// The line of a record, from 1. The reader's own count does not include blank lines just before
/// the record.
pub(super) fn line_of(text: &str, position: Option<&csv::Position>) -> usize {
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
