//! Messages of the protocol: a header with a length, then JSON.

use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

/// A message's bytes, at most.
const LONGEST: usize = 16 << 20;
/// A header line's bytes, at most.
const LONGEST_LINE: u64 = 4096;

/// What a client asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) seq: i64,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) arguments: Value,
}

/// What was read: a request, or why it is none, with its number where that could be read.
pub(crate) type Read = Result<Request, (i64, String)>;

/// The next message; nothing at the end of the input.
///
/// # Errors
/// When the input fails, or its headers are not the protocol's: then nobody knows where the next
/// message begins.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Read>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if io::Read::take(&mut *input, LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() && length.is_some() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        } else if !line.contains(':') {
            let problem = "a message begins with `Content-Length: N`";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
    }
    let length = length.filter(|&length| length <= LONGEST).ok_or_else(|| {
        let problem = format!("a message has a length of up to {LONGEST} bytes");
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })?;
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
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

/// Writes messages, with their numbers.
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
