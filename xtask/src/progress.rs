//! What cargo does, in few lines: how many of how many units are compiled, and which one now.

use std::io::{IsTerminal as _, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often a line is written where standard error is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Runs cargo and shows its progress on the standard error. True if it succeeded.
///
/// # Errors
/// When cargo cannot be run.
pub fn show(cargo: &mut Command) -> Result<bool, String> {
    Ok(run(cargo)?.0)
}

/// The same; also returns what cargo writes to its standard output.
///
/// # Errors
/// When cargo cannot be run.
pub fn show_and_read(cargo: &mut Command) -> Result<(bool, String), String> {
    run(cargo.stdout(Stdio::piped()))
}

fn run(cargo: &mut Command) -> Result<(bool, String), String> {
    let terminal = std::io::stderr().is_terminal();
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "always");
    cargo.env("CARGO_TERM_PROGRESS_WIDTH", "160");
    if terminal && std::env::var_os("NO_COLOR").is_none() {
        cargo.arg("--color=always");
    }
    cargo.stderr(Stdio::piped());
    let mut child = cargo
        .spawn()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    let (pipe, output) = (child.stderr.take(), child.stdout.take());
    let output = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.map(|mut output| output.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    });
    let (sender, lines) = channel();
    let reader = std::thread::spawn(move || pipe.map(|pipe| read(pipe, &sender)));
    let mut line = Line::new(terminal);
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(text) => line.take(&text),
            Err(RecvTimeoutError::Timeout) => line.draw(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    line.end();
    // The reader has ended: it closed the channel.
    let _ = reader.join();
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    Ok((status.success(), output.join().unwrap_or_default()))
}

/// Sends each line, and each state of the progress bar, which ends in a carriage return.
fn read(mut pipe: impl Read, lines: &Sender<String>) {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        for &byte in &buffer[..count] {
            if matches!(byte, b'\n' | b'\r') {
                let text = String::from_utf8_lossy(&line).into_owned();
                line.clear();
                if lines.send(text).is_err() {
                    return;
                }
            } else {
                line.push(byte);
            }
        }
    }
    let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
}

/// The line of progress.
struct Line {
    terminal: bool,
    start: Instant,
    shown: Option<Instant>,
    /// `137/212: serde, kernels(build)`
    state: Option<String>,
}

impl Line {
    fn new(terminal: bool) -> Self {
        Self {
            terminal,
            start: Instant::now(),
            shown: None,
            state: None,
        }
    }

    /// Takes a line of cargo's: keeps the state of its bar, drops lines that say the same as the
    /// bar, and prints all others.
    fn take(&mut self, text: &str) {
        let plain = without_colour(text);
        if let Some(state) = state(&plain) {
            self.state = Some(state.to_owned());
            self.draw();
        } else if !is_said_by_the_bar(&plain) {
            self.clear();
            eprintln!("{text}");
        }
    }

    /// Writes the state: over the last one on a terminal, else now and then.
    fn draw(&mut self) {
        let Some(state) = &self.state else { return };
        let seconds = self.start.elapsed().as_secs();
        let text = format!("{seconds:4} s  {}", readable(state));
        if self.terminal {
            eprint!("\r\x1b[K{}", text.chars().take(100).collect::<String>());
        } else if self.shown.unwrap_or(self.start).elapsed() >= EVERY {
            eprintln!("{text}");
        } else {
            return;
        }
        self.shown = Some(Instant::now());
    }

    fn clear(&self) {
        if self.terminal && self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }

    /// Prints the time that it took, if any progress was shown.
    fn end(&self) {
        self.clear();
        if self.shown.is_some() {
            eprintln!("{:4} s  compiled", self.start.elapsed().as_secs());
        }
    }
}

/// `137/212: serde, kernels(build)` of `Building [=====>   ] 137/212: serde, kernels(build)`.
fn state(line: &str) -> Option<&str> {
    let bar = line.trim_start().strip_prefix("Building [")?;
    Some(bar.split_once("] ")?.1.trim_end())
}

/// In words: `137 of 212 compiled, now: serde, kernels (Rust to PTX)`.
fn readable(state: &str) -> String {
    let (count, now) = state.split_once(':').unwrap_or((state, ""));
    let now = now
        .trim()
        .replace("kernels(build)", "kernels (Rust to PTX)");
    let count = count.replace('/', " of ");
    if now.is_empty() {
        format!("{count} compiled")
    } else {
        format!("{count} compiled, now: {now}")
    }
}

fn is_said_by_the_bar(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or("");
    matches!(
        word,
        "" | "Blocking" | "Compiling" | "Downloaded" | "Downloading" | "Finished" | "Fresh"
    )
}

/// The text without the sequences that colour it.
fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain += before;
        rest = after.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        rest = rest.get(1..).unwrap_or("");
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_state_is_read() {
        let line =
            "\x1b[1m\x1b[36m    Building\x1b[0m [=====>     ] 137/212: serde, kernels(build)   ";
        let plain = without_colour(line);
        assert_eq!(state(&plain), Some("137/212: serde, kernels(build)"));
        assert_eq!(
            readable(state(&plain).unwrap()),
            "137 of 212 compiled, now: serde, kernels (Rust to PTX)"
        );
        assert_eq!(readable("212/212"), "212 of 212 compiled");
        assert_eq!(state("warning: unused variable"), None);
    }

    #[test]
    fn lines_that_the_bar_replaces_are_left_out_and_others_are_not() {
        for line in ["   Compiling serde v1", "    Finished `dev` profile", ""] {
            assert!(is_said_by_the_bar(line), "{line}");
        }
        for line in ["warning: unused variable", "error[E0308]: mismatched types"] {
            assert!(!is_said_by_the_bar(line), "{line}");
        }
    }

    #[test]
    fn lines_end_at_both_kinds_of_return() {
        let (sender, lines) = channel();
        read(&b"a\rb\nc"[..], &sender);
        drop(sender);
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
