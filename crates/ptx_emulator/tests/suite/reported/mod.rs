//! Small programs made after reports from other people's work, and variants of each: what is right
//! is clean in every order of the threads, what is wrong is found.

mod constant;
mod exchanges;
mod named;
mod rounding;

use crate::common::{limits, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Module, Severity};

/// A launch of `k` with buffers of these lengths in words, all zero.
struct Launch<'a> {
    text: &'a str,
    grid: u32,
    threads: u32,
    /// The words of each buffer.
    buffers: &'a [usize],
    schedules: u32,
}

impl Launch<'_> {
    #[track_caller]
    fn check(&self) -> CheckReport {
        self.check_with(&[])
    }

    /// The same, with the first words of each buffer.
    #[track_caller]
    fn check_with(&self, contents: &[&[u32]]) -> CheckReport {
        let module = Module::parse(self.text).unwrap_or_else(|error| panic!("{error}"));
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module).expect("it loads");
        let buffers = self.buffers.iter().enumerate().map(|(at, &words)| {
            let mut bytes = vec![0; 4 * words];
            let given = contents.get(at).copied().unwrap_or_default();
            for (bytes, word) in bytes.chunks_exact_mut(4).zip(given) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let buffer = emulator.alloc(bytes.len() as u64).expect("memory is there");
            emulator.write(buffer, &bytes).expect("it fits");
            buffer.to_le_bytes()
        });
        let buffers: Vec<[u8; 8]> = buffers.collect();
        let args: Vec<&[u8]> = buffers.iter().map(|bytes| &bytes[..]).collect();
        let options = CheckOptions {
            schedules: self.schedules,
            ..CheckOptions::default()
        };
        let config = shape(self.grid, self.threads, 0);
        let report = emulator.check(&loaded, "k", config, &args, &options);
        report.expect("it is launched")
    }
}

/// Nothing but notes.
#[track_caller]
fn clean(report: &CheckReport) {
    assert!(report.is_clean(), "{:#?}", report.findings);
}

/// Nothing at all.
#[track_caller]
fn silent(report: &CheckReport) {
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// At least one error.
#[track_caller]
fn wrong(report: &CheckReport) {
    assert!(report.count(Severity::Error) > 0, "{:#?}", report.findings);
}

/// The text with `part` replaced; panics if it does not occur.
#[track_caller]
fn with(text: &str, part: &str, by: &str) -> String {
    assert!(text.contains(part), "{part}");
    text.replace(part, by)
}
