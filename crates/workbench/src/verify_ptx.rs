//! `cargo xtask verify-ptx`: assembles every PTX file with ptxas and prints what each kernel uses,
//! and how often products read registers of one bank.

mod conflicts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use cuda_tools::ptxas::Usage;
use cuda_tools::{Ptxas, ToolError};
use rayon::prelude::*;

use crate::{setup, workspace};

/// NVIDIA's programs.
pub(crate) struct Tools {
    ptxas: Ptxas,
    nvdisasm: PathBuf,
}

impl Tools {
    /// Those of this machine; fetched first if there are none.
    pub(crate) fn find() -> Result<Self> {
        let ptxas = setup::ptxas()?;
        let nvdisasm = setup::nvdisasm(&ptxas)?;
        Ok(Self { ptxas, nvdisasm })
    }
}

pub(crate) fn run(files: &[PathBuf]) -> Result<ExitCode> {
    verify(&Tools::find()?, files)?;
    Ok(ExitCode::SUCCESS)
}

/// Assembles `files`, or all of target/ptx if there are none, and prints a table for each. Spills
/// are shown but are not an error: they cost time, not correctness. More conflicts of registers than
/// recorded are an error: no test of results would notice.
///
/// Continues with the other files after a refused one.
fn verify(tools: &Tools, files: &[PathBuf]) -> Result<()> {
    let folder = workspace::ptx()?;
    let is_all = files.is_empty();
    let files = match is_all {
        true => all_ptx(&folder)?,
        false => files.to_owned(),
    };
    let ptxas = &tools.ptxas;
    say!("ptxas {} ({})", ptxas.version, ptxas.path.display());
    let mut refused = 0;
    let outcomes = assemble(ptxas, &files);
    for (file, outcome) in files.iter().zip(outcomes) {
        match outcome {
            Ok(kernels) => say!("\n{}\n{}", file.display(), table(&kernels)),
            Err(error) => {
                refused += 1;
                eprintln!("\n{error}");
            }
        }
    }
    if refused > 0 {
        bail!("{refused} of {} PTX files failed", files.len());
    }
    match is_all {
        true => say!("\n{}", conflicts::check(tools, &folder)?),
        false => say!("\nregister banks: not counted, files are named"),
    }
    Ok(())
}

/// Assembles all of target/ptx and prints nothing, for the tests.
///
/// # Errors
/// The files that ptxas refuses, and why; kernels with more conflicts of registers than recorded.
pub(crate) fn refused(tools: &Tools) -> Result<()> {
    let folder = workspace::ptx()?;
    let files = all_ptx(&folder)?;
    let (outcomes, conflicts) = rayon::join(
        || assemble(&tools.ptxas, &files),
        || conflicts::check(tools, &folder),
    );
    let refused = outcomes.into_iter().filter_map(Result::err);
    let texts = refused.map(|error| error.to_string());
    let texts: Vec<_> = texts
        .chain(conflicts.err().map(|error| format!("{error:#}")))
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    bail!("{}", texts.join("\n"))
}

fn assemble(ptxas: &Ptxas, files: &[PathBuf]) -> Vec<Result<Vec<Usage>, ToolError>> {
    let files = files.par_iter().with_max_len(1);
    files.map(|file| ptxas.verify(file)).collect()
}

/// The PTX files in `folder`, by name.
fn all_ptx(folder: &Path) -> Result<Vec<PathBuf>> {
    let nothing = || {
        format!(
            "no PTX in {}; run `cargo xtask build-ptx` first, or name files",
            folder.display()
        )
    };
    let entries = std::fs::read_dir(folder).with_context(nothing)?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    if files.is_empty() {
        bail!(nothing());
    }
    files.sort();
    Ok(files)
}

/// One line for each kernel. Sizes are in bytes; registers, spills and stack are per thread.
fn table(kernels: &[Usage]) -> String {
    let name_width = kernels
        .iter()
        .map(|kernel| kernel.kernel.len())
        .max()
        .unwrap_or(0)
        .max("kernel".len());
    let line = |name: &str, columns: [&str; 6]| {
        let columns = columns.map(|column| format!("{column:>10}")).join("");
        format!("  {name:name_width$}{columns}")
    };
    let header = line(
        "kernel",
        [
            "registers",
            "barriers",
            "spill st",
            "spill ld",
            "shared",
            "stack",
        ],
    );
    let rows = kernels.iter().map(|kernel| {
        let figures = [
            kernel.registers,
            kernel.barriers,
            kernel.spill_stores,
            kernel.spill_loads,
            kernel.shared,
            kernel.stack,
        ]
        .map(|figure| figure.to_string());
        line(&kernel.kernel, figures.each_ref().map(String::as_str))
    });
    std::iter::once(header)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up() {
        let kernels = [
            Usage {
                kernel: "matmul_tiled_f32".to_owned(),
                registers: 38,
                barriers: 1,
                shared: 2048,
                ..Usage::default()
            },
            Usage {
                kernel: "add".to_owned(),
                registers: 255,
                stack: 64,
                spill_stores: 12,
                spill_loads: 24,
                ..Usage::default()
            },
        ];
        assert_eq!(
            table(&kernels),
            "  kernel           registers  barriers  spill st  spill ld    shared     stack\n\
             \x20 matmul_tiled_f32        38         1         0         0      2048         0\n\
             \x20 add                    255         0        12        24         0        64"
        );
    }
}
