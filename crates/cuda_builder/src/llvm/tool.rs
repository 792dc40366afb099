//! Runs LLVM's tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{CudaBuilderError, io_error};

/// Runs a tool; its standard error becomes part of the error.
pub(super) fn run(command: &mut Command) -> Result<(), CudaBuilderError> {
    let output = command.output().map_err(|source| CudaBuilderError::Start {
        tool: command.get_program().into(),
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::Llvm {
        tool: command.get_program().to_string_lossy().into_owned(),
        status: output.status.to_string(),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Reads the output of a tool, and deletes it together with the tool's inputs.
pub(super) fn take(inputs: &[PathBuf], output: &Path) -> Result<String, CudaBuilderError> {
    let text = read(output)?;
    for file in inputs.iter().map(PathBuf::as_path).chain([output]) {
        std::fs::remove_file(file).map_err(io_error("remove", file))?;
    }
    Ok(text)
}

pub(crate) fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io_error("read", path))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io_error("write", path))
}
