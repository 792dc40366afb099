//! Runs test programs, several at a time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use anyhow::{Context, Result};

use super::program::{Outcome, Program, Settings};
use super::table;

/// A program that has ended.
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
}

/// Runs the programs, `at_once` at a time and the longest first, with each one's output in a file
/// in `folder`. Reports each when it ends, with the output if it failed.
pub(crate) fn run(
    mut programs: Vec<Program>,
    at_once: usize,
    settings: &Settings<'_>,
    folder: &Path,
) -> Result<Vec<Ended>> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    programs.sort_by(|a, b| table::expected(&b.name).total_cmp(&table::expected(&a.name)));
    let total = programs.len();
    let waiting = Mutex::new(VecDeque::from(programs));
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (sender, waiting) = (sender.clone(), &waiting);
            scope.spawn(move || {
                let next = || waiting.lock().ok()?.pop_front();
                while let Some(program) = next() {
                    let file = folder.join(format!("{}.txt", program.name.replace('/', "-")));
                    let outcome = program.run(settings, &file);
                    if sender.send((program.name, file, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut ended = Vec::new();
        for (name, file, outcome) in results {
            let outcome = outcome?;
            ended.push(Ended { name, outcome });
            if let Some(last) = ended.last() {
                tell(last, ended.len(), total, &file)?;
            }
        }
        Ok(ended)
    })
}

fn tell(ended: &Ended, count: usize, total: usize, file: &Path) -> Result<()> {
    let Ended { name, outcome } = ended;
    let verdict = if outcome.success { "ok" } else { "FAILED" };
    if !outcome.success {
        let text = std::fs::read(file).with_context(|| format!("{}", file.display()))?;
        say!("{}", String::from_utf8_lossy(&text).trim_end());
    }
    say!(
        "{count:3} of {total}  {verdict:6} {:6.1} s {:6.1} CPU s  {name}: {} passed{}{}",
        outcome.wall,
        outcome.cpu,
        outcome.passed,
        plural(outcome.failed, "failed"),
        plural(outcome.skips.len() as u32, "skipped"),
    );
    Ok(())
}

fn plural(count: u32, what: &str) -> String {
    match count {
        0 => String::new(),
        _ => format!(", {count} {what}"),
    }
}
