//! PyTorch with NCCL, and cuBLASMp, by a script.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::MeshRow;
use super::work::{MeshWork, TENSOR};
use crate::bench::{PeersError, Timing};

/// A line of the script's output.
#[derive(Deserialize)]
struct Answer {
    work: usize,
    by: String,
    /// What was timed, where it is a part of the work only.
    part: Option<String>,
    timing: Option<Timing>,
    check: String,
    passed: bool,
}

/// Times PyTorch with NCCL, and cuBLASMp if it is installed, by a script that torchrun starts once
/// per GPU. `take` gets each row when it is there.
///
/// # Errors
/// When the script cannot be run or fails.
pub fn mesh_peers(
    python: &Path,
    script: &Path,
    gpus: usize,
    works: &[MeshWork],
    mut take: impl FnMut(MeshRow),
) -> Result<(), PeersError> {
    // PyTorch has no tensor-core product of f32 with this accuracy: its products are FP32.
    let works: Vec<&MeshWork> = works.iter().filter(|work| work.rung != TENSOR).collect();
    let mut command = Command::new(python);
    command
        .args(["-m", "torch.distributed.run", "--standalone"])
        .args(["--nproc-per-node", &gpus.to_string()])
        .arg(script);
    for work in &works {
        let extents: Vec<String> = work.size.0.iter().map(usize::to_string).collect();
        let (operation, extents, rounds) = (&work.operation, extents.join("x"), work.rounds);
        command.arg(format!("{operation}={extents}:{rounds}"));
    }
    let peer = || script.display().to_string();
    let unstarted = |source| PeersError::Start {
        program: format!("{} {}", python.display(), script.display()),
        source,
    };
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut process = command.spawn().map_err(unstarted)?;
    let output = process.stdout.take().map(BufReader::new);
    let lines = output.into_iter().flat_map(BufRead::lines);
    // What cannot be read ends the script, whose status tells it.
    for line in lines.map_while(Result::ok) {
        if !line.starts_with('{') {
            continue;
        }
        let answer = serde_json::from_str::<Answer>(&line);
        let answer = answer.map_err(|source| PeersError::Answer {
            peer: peer(),
            source,
        })?;
        if let Some(work) = works.get(answer.work) {
            let row = MeshRow::of(work, &answer.by, gpus);
            let part = (answer.part).map(|part| format!("{part}/f32/{}", work.size));
            take(MeshRow {
                work: part.unwrap_or(row.work),
                timing: answer.timing,
                check: answer.check,
                passed: answer.passed,
                ..row
            });
        }
    }
    let status = process.wait().map_err(unstarted)?;
    if status.success() {
        return Ok(());
    }
    Err(PeersError::Failed {
        peer: peer(),
        how: status.to_string(),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::bench::{Options, Sizes, mesh_works};

    /// A stand-in for the interpreter, which says these lines and ends with that status.
    fn run(lines: &str, status: i32) -> (Vec<MeshRow>, Result<(), PeersError>) {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        let text = format!("#!/bin/sh\ncat <<'END'\n{lines}\nEND\nexit {status}\n");
        std::fs::write(&python, text).unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o700)).unwrap();
        let works = mesh_works(&Options {
            filter: vec!["sum".to_owned(), "transpose/".to_owned()],
            sizes: Sizes::Given(vec!["9".parse().unwrap()]),
            ..Options::default()
        });
        let mut rows = Vec::new();
        let ended = mesh_peers(&python, Path::new("peers.py"), 2, &works, |row| {
            rows.push(row);
        });
        (rows, ended)
    }

    #[test]
    fn rows_come_before_a_script_fails_and_parts_have_names_of_their_own() {
        let row = r#"{"work": 1, "by": "torch", "timing": null, "check": "1e-9", "passed": true}"#;
        let part = r#"{"work": 0, "by": "NCCL", "part": "all-to-all", "timing": null, "check": "", "passed": true}"#;
        let (rows, ended) = run(&format!("no row\n{row}\n{part}"), 3);
        assert!(matches!(ended, Err(PeersError::Failed { .. })), "{ended:?}");
        let names: Vec<_> = rows.iter().map(|row| row.work.as_str()).collect();
        assert_eq!(names, ["sum/f32/9", "all-to-all/f32/9x9"]);
        assert!(rows.iter().all(|row| row.passed && row.gpus == 2));
        let (rows, ended) = run("{}", 0);
        assert!(rows.is_empty());
        assert!(matches!(ended, Err(PeersError::Answer { .. })), "{ended:?}");
    }
}
