//! What others take for the same works: a script times them, here its rows are joined with ours.

use std::collections::BTreeMap;
use std::io::Write;
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
    /// The script failed; it has said why on standard error.
    #[error("{} failed: {how}", script.display())]
    Failed {
        /// The script.
        script: PathBuf,
        /// How it ended.
        how: String,
    },
    /// What it wrote is not what was asked for.
    #[error("{} wrote no rows: {source}", script.display())]
    Answer {
        /// The script.
        script: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// What the script is asked.
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

/// What it answers.
#[derive(Deserialize)]
struct Answer {
    rows: Vec<Answered>,
    versions: BTreeMap<String, String>,
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

/// Times the peers of the works and adds their rows.
///
/// # Errors
/// When the script cannot be run or fails. A peer that is missing is a row.
pub fn join(
    report: &mut Report,
    works: &[Work],
    python: &Path,
    script: &Path,
) -> Result<(), PeersError> {
    let answer = ask(works, python, script)?;
    report.run.versions = answer.versions;
    for row in answer.rows {
        let Some(work) = works.iter().find(|work| work.name() == row.work) else {
            continue;
        };
        let row = Row {
            work: row.work,
            implementation: row.implementation,
            rung: row.rung,
            policy: row.policy,
            bytes: work.bytes,
            operations: work.operations,
            timing: row.timing,
            of_copy: None,
            of_fma: None,
            check: row.check,
            passed: row.passed,
        };
        report.rows.push(row.with_shares(work, &report.ceilings));
    }
    Ok(())
}

fn ask(works: &[Work], python: &Path, script: &Path) -> Result<Answer, PeersError> {
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
    // The script reads all before it writes anything. One that ends before it has read is told by its exit code.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(&text);
    }
    let output = child.wait_with_output().map_err(start)?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|source| PeersError::Answer {
        script: script.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bench::{Options, works};

    #[test]
    fn every_rung_has_a_twin_in_cuda_cpp() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/twins");
        let mut twins = BTreeSet::new();
        for file in std::fs::read_dir(folder).expect("the folder of twins") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
            for line in text.lines().filter_map(|line| line.strip_prefix("//! ")) {
                let twin: serde_json::Value = serde_json::from_str(line).expect("a twin as JSON");
                if twin["by"] == "nvcc" {
                    let name = |key: &str| twin[key].as_str().map(str::to_owned);
                    twins.insert((name("works"), name("rung")));
                }
            }
        }
        for work in works(&Options::default()) {
            // What the launcher takes by itself is one of the other rungs.
            for rung in work.rungs.iter().filter(|rung| rung.name != "default") {
                let works = format!("{}/{}", work.operation, work.ty);
                let twin = (Some(works), Some(rung.name.clone()));
                assert!(twins.contains(&twin), "{twin:?} is missing in bench/twins");
            }
        }
    }
}
