//! Fuzzes one parser: `cargo run -p parser_fuzz --example fuzz_parsers -- TARGET SECONDS`.
//!
//! A worker process runs inputs; when it dies, what it ran last is a finding, and another one goes
//! on. Inputs with new outcomes are kept in `corpus`, findings in `target/parser_fuzz`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use parser_fuzz::targets::{self, TARGETS};
use parser_fuzz::{Fuzzer, count_panics, limit};

#[global_allocator]
static LIMITED: limit::Limited = limit::Limited;

/// How long one input may take; this machine has other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// Findings after which there is no use in going on.
const ENOUGH: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [target, seconds] => match seconds.parse() {
            Ok(seconds) => watch(target, seconds),
            Err(_) => usage(),
        },
        ["--worker", target, seconds, seed, last] => {
            match (targets::named(target), seconds.parse(), seed.parse()) {
                (Some(target), Ok(seconds), Ok(seed)) => work(target, seconds, seed, last),
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!(
        "usage: fuzz_parsers TARGET SECONDS; the targets: {}",
        names.join(", ")
    );
    ExitCode::from(2)
}

/// Starts workers until the time is over; what they died of.
fn watch(target: &str, seconds: u64) -> ExitCode {
    if targets::named(target).is_none() {
        return usage();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/parser_fuzz");
    fs::create_dir_all(&folder).expect("a folder for findings");
    let last = folder.join(format!("{target}.last"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut findings: Vec<PathBuf> = Vec::new();
    let mut seed = u64::from(std::process::id());
    while findings.len() < ENOUGH {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            break;
        }
        seed += 1;
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--worker", target, &left.to_string(), &seed.to_string()])
            .arg(&last)
            .status()
            .expect("a worker");
        if status.success() {
            continue;
        }
        let finding = folder.join(format!(
            "{target}.{}-{}",
            std::process::id(),
            findings.len()
        ));
        fs::copy(&last, &finding).expect("the input is kept");
        println!("{target}: {status} by {}", finding.display());
        findings.push(finding);
    }
    println!("{target}: {} findings in {seconds} s", findings.len());
    ExitCode::from(u8::from(!findings.is_empty()))
}

/// When the input that runs has begun.
static SINCE: Mutex<Option<Instant>> = Mutex::new(None);

fn work(target: &'static targets::Target, seconds: u64, seed: u64, last: &str) -> ExitCode {
    assert!(limit::works(), "this allocator has no limit");
    count_panics();
    let last = File::create(last).expect("a file for the input");
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(PATIENCE / 10);
            let since = *SINCE.lock().expect("nothing panics here");
            if since.is_some_and(|since| since.elapsed() > PATIENCE) {
                eprintln!("an input takes more than {PATIENCE:?}");
                std::process::abort();
            }
        }
    });
    let mut before = |input: &[u8]| {
        last.set_len(input.len() as u64).expect("room");
        last.write_all_at(input, 0).expect("room");
        *SINCE.lock().expect("nothing panics here") = Some(Instant::now());
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut fuzzer = Fuzzer::new(target, seed, true);
    let mut result = fuzzer.known(&mut before);
    while result.is_ok() && Instant::now() < end {
        result = fuzzer.step(&mut before);
    }
    println!(
        "{}: {} inputs, {} outcomes",
        target.name,
        fuzzer.runs,
        fuzzer.outcomes()
    );
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(101),
    }
}
