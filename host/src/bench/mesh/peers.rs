//! PyTorch with NCCL, and cuBLASMp, by a script.

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
    timing: Option<Timing>,
    check: String,
    passed: bool,
}

/// Times PyTorch with NCCL, and cuBLASMp if it is installed, by a script that torchrun starts once
/// per GPU.
///
/// # Errors
/// When the script cannot be run or fails.
pub fn mesh_peers(
    python: &Path,
    script: &Path,
    gpus: usize,
    works: &[MeshWork],
) -> Result<Vec<MeshRow>, PeersError> {
    // PyTorch has no tensor-core product of f32 with this accuracy: its products are FP32.
    let works: Vec<&MeshWork> = works.iter().filter(|work| work.rung != TENSOR).collect();
    let mut command = Command::new(python);
    command
        .args(["-m", "torch.distributed.run", "--standalone"])
        .args(["--nproc-per-node", &gpus.to_string()])
        .arg(script);
    for work in &works {
        let extents: Vec<String> = work.size.0.iter().map(usize::to_string).collect();
        let (operation, extents, rounds) = (work.operation, extents.join("x"), work.rounds);
        command.arg(format!("{operation}={extents}:{rounds}"));
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| PeersError::Start {
        python: python.to_owned(),
        script: script.to_owned(),
        source,
    })?;
    if !output.status.success() {
        return Err(PeersError::Failed {
            script: script.to_owned(),
            how: output.status.to_string(),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().filter(|line| line.starts_with('{'));
    let rows = rows.map(|line| {
        let answer = serde_json::from_str::<Answer>(line);
        let answer = answer.map_err(|source| PeersError::Answer {
            script: script.to_owned(),
            source,
        })?;
        let row = works.get(answer.work).map(|work| MeshRow {
            timing: answer.timing,
            check: answer.check,
            passed: answer.passed,
            ..MeshRow::of(work, &answer.by, gpus)
        });
        Ok(row)
    });
    rows.filter_map(Result::transpose).collect()
}
