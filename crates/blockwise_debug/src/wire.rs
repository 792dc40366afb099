//! Messages of the protocol: one header line with a length, an empty line, then JSON.

use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read as _, Write};

/// The most bytes of a message.
const LONGEST: usize = 1 << 20;
/// The start of a header line: the protocol has only this one.
const HEADER: &[u8] = b"content-length:";
/// The most bytes of a header line.
const LONGEST_LINE: usize = 64;

/// A client's request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) seq: i64,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) arguments: Value,
}

/// The input: a request, or why it is not one, with its number if that could be read.
pub(crate) type Read = Result<Request, (i64, String)>;

/// The next message; `None` at the end of the input.
///
/// # Errors
/// When the input fails, or its headers are not the protocol's: then the start of the next message
/// is unknown. Requests of other protocols, which a browser page can send to a local port, end at
/// their first byte that does not belong to a header.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Read>> {
    let Some(header) = line(input, HEADER)? else {
        return Ok(None);
    };
    let length = std::str::from_utf8(&header[HEADER.len()..]).ok();
    let length = length.and_then(|text| text.trim_matches(' ').parse::<usize>().ok());
    let length = length.filter(|&length| length <= LONGEST);
    let length =
        length.ok_or_else(|| wrong(&format!("a message has a length of up to {LONGEST} bytes")))?;
    if line(input, b"")?.is_none_or(|line| !line.is_empty()) {
        return Err(wrong(NO_HEADER));
    }
    let mut bytes = Vec::new();
    // Memory grows with what arrives.
    if input.take(length as u64).read_to_end(&mut bytes)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let message: Value = match serde_json::from_slice(&bytes) {
        Ok(message) => message,
        Err(error) => return Ok(Some(Err((0, format!("the message is no JSON: {error}"))))),
    };
    let seq = message["seq"].as_i64().unwrap_or(0);
    let request = serde_json::from_value(message);
    Ok(Some(request.map_err(|error| {
        (seq, format!("the message is no request: {error}"))
    })))
}

const NO_HEADER: &str = "a message begins with `Content-Length: N` and an empty line";

fn wrong(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// The next line without its end. It starts with these lower-case letters and continues with a
/// number; without letters, it must be empty. `None` at the end of the input. A wrong or
/// superfluous byte is an error as soon as it arrives.
fn line(input: &mut impl BufRead, start: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let Some(&byte) = input.fill_buf()?.first() else {
            return match line.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        };
        input.consume(1);
        let is_wanted = match start.get(line.len()) {
            Some(wanted) => byte.to_ascii_lowercase() == *wanted,
            None if start.is_empty() => byte == b'\n' || (byte == b'\r' && line.is_empty()),
            None if line.last() == Some(&b'\r') => byte == b'\n',
            None => line.len() < LONGEST_LINE && matches!(byte, b'0'..=b'9' | b' ' | b'\r' | b'\n'),
        };
        if !is_wanted {
            return Err(wrong(NO_HEADER));
        }
        if byte == b'\n' && line.len() >= start.len() {
            line.pop_if(|last| *last == b'\r');
            return Ok(Some(line));
        }
        line.push(byte);
    }
}

/// Writes messages with their numbers.
pub(crate) struct Writer<W> {
    output: W,
    seq: i64,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(output: W) -> Self {
        Self { output, seq: 0 }
    }

    pub(crate) fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.send(json!({ "type": "event", "event": event, "body": body }))
    }

    /// Answers a request.
    pub(crate) fn answer(
        &mut self,
        seq: i64,
        command: &str,
        result: Result<Value, String>,
    ) -> io::Result<()> {
        let mut message = json!({
            "type": "response",
            "request_seq": seq,
            "command": command,
            "success": result.is_ok(),
        });
        match result {
            Ok(body) => message["body"] = body,
            Err(text) => {
                message["body"] = json!({ "error": { "id": 1, "format": text, "showUser": true } });
                message["message"] = text.into();
            }
        }
        self.send(message)
    }

    fn send(&mut self, mut message: Value) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = self.seq.into();
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }
}
