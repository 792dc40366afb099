//! Times of other libraries for the same works: a script measures them, and its rows join ours.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{Report, Row, Timing, Work};

/// Why there are no peers to compare with.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The interpreter cannot be started.
    #[error("cannot run {} {}: {source}", python.display(), script.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// The script.
        script: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The script failed; it reported the reason on standard error.
    #[error("{} failed: {how}", script.display())]
    Failed {
        /// The script.
        script: PathBuf,
        /// How it ended.
        how: String,
    },
    /// The script's output is not valid.
    #[error("{} wrote a line that is no row: {source}", script.display())]
    Answer {
        /// The script.
        script: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A request to the script.
#[derive(Serialize)]
struct Question<'a> {
    works: Vec<Asked<'a>>,
}

#[derive(Serialize)]
struct Asked<'a> {
    work: String,
    operation: &'a str,
    r#type: &'a str,
    size: &'a [usize],
    bytes: u64,
    operations: u64,
}

/// A line of its answer.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Row(Answered),
    Versions(BTreeMap<String, String>),
}

#[derive(Deserialize)]
struct Answered {
    work: String,
    implementation: String,
    rung: String,
    policy: String,
    timing: Option<Timing>,
    check: String,
    passed: bool,
}

/// Times the peers of the works and adds their rows as they arrive; each time `done` receives the
/// results so far.
///
/// # Errors
/// When the script cannot be run or fails. A peer that is missing is a row.
pub fn join(
    report: &mut Report,
    works: &[Work],
    python: &Path,
    script: &Path,
    mut done: impl FnMut(&Report),
) -> Result<(), PeersError> {
    ask(works, python, script, |answer| match answer {
        Answer::Row(row) => {
            if let Some(work) = works.iter().find(|work| work.name() == row.work) {
                let row = row.of(work).with_shares(work, &report.ceilings);
                report.rows.push(row);
                done(report);
            }
        }
        Answer::Versions(versions) => report.run.versions = versions,
    })
}

impl Answered {
    fn of(self, work: &Work) -> Row {
        Row {
            work: self.work,
            implementation: self.implementation,
            rung: self.rung,
            policy: self.policy,
            bytes: work.bytes,
            operations: work.operations,
            timing: self.timing,
            of_copy: None,
            of_fma: None,
            check: self.check,
            passed: self.passed,
        }
    }
}

fn ask(
    works: &[Work],
    python: &Path,
    script: &Path,
    mut answered: impl FnMut(Answer),
) -> Result<(), PeersError> {
    let question = Question {
        works: works
            .iter()
            .map(|work| Asked {
                work: work.name(),
                operation: work.operation,
                r#type: work.ty,
                size: &work.size.0,
                bytes: work.bytes,
                operations: work.operations,
            })
            .collect(),
    };
    let start = |source| PeersError::Start {
        python: python.to_owned(),
        script: script.to_owned(),
        source,
    };
    let failed = |how: String| PeersError::Failed {
        script: script.to_owned(),
        how,
    };
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(start)?;
    let text = serde_json::to_vec(&question).map_err(|error| failed(error.to_string()))?;
    // The script reads everything before it writes. If it ends before that, its exit code shows it.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(&text);
    }
    let mut wrong = Ok(());
    if let Some(stdout) = child.stdout.take() {
        // All lines are read, even after a wrong one: the script waits for that.
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(serde_json::Error::io);
            match line.and_then(|line| serde_json::from_str(&line)) {
                Ok(answer) => answered(answer),
                Err(error) => wrong = wrong.and(Err(error)),
            }
        }
    }
    let status = child.wait().map_err(start)?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    wrong.map_err(|source| PeersError::Answer {
        script: script.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Sizes, TWIN, tables};
    use blockwise_ops::operation::Tier;

    #[test]
    fn every_rung_has_a_twin_in_cuda_cpp_and_none_where_it_is_not() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/twins");
        let mut twins = BTreeMap::new();
        for file in std::fs::read_dir(folder).expect("the folder of twins") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
            for line in text.lines().filter_map(|line| line.strip_prefix("//! ")) {
                let twin: serde_json::Value = serde_json::from_str(line).expect("a twin as JSON");
                if twin["by"] == TWIN {
                    let name = |key: &str| twin[key].as_str().expect("a name").to_owned();
                    let when = twin["when"].as_str().map(str::to_owned);
                    twins.insert((name("works"), name("rung")), when);
                }
            }
        }
        for work in tables(&Sizes::Standard) {
            let works = format!("{}/{}", work.operation, work.ty);
            let has = |rung: &str| work.rungs.iter().any(|it| it.name == rung);
            // The launcher's default is one of the other kernels, and of a kernel with two forms
            // the safe one has a twin in CUDA C++. FFTs in registers and sliced products have no
            // twin: their peers are the libraries.
            let is_own = |name: &str| {
                let of_libraries = ["axis", "scan", "sliced", "sliced-copy", "few"].contains(&name)
                    || name.starts_with("mma");
                name != "default"
                    && !name.ends_with("-raw")
                    && (!name.starts_with("fft") || name == "fft-radix2")
                    && !of_libraries
            };
            let is_ablation = |name: &str| {
                let variant = blockwise_ops::find(work.operation);
                let variant = variant.and_then(|of| ladder::variant(of, name));
                variant.is_some_and(|variant| matches!(variant.tier, Tier::Ladder { .. }))
            };
            let own = work.rungs.iter().filter(|rung| is_own(&rung.name));
            for rung in own.filter(|rung| !is_ablation(&rung.name)) {
                let twin = (works.clone(), rung.name.clone());
                assert!(
                    twins.contains_key(&twin),
                    "{twin:?} is missing in bench/twins"
                );
            }
            let of_work = twins.iter().filter(|it| it.0.0 == works);
            for ((_, rung), when) in of_work.filter(|it| !has(&it.0.1)) {
                let name = work.name();
                assert!(
                    when.is_some(),
                    "{name} has no {rung}: its twin needs `when`"
                );
            }
        }
    }
}
