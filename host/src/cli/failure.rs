//! Why a command could not be carried out: one line, and a hint.

use std::path::Path;
use std::process::ExitCode;

use blockwise_ops::LaunchError;
use blockwise_ops::compare::ShapeMismatch;
use kernel_arguments::Problem;
use serde_json::json;

use super::report;
use crate::io::FileError;

/// An error with advice. The command ends with exit code 2.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Failure {
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with the file's name.
    pub(super) fn about(mut self, path: &Path) -> Self {
        self.message = format!("{}: {}", path.display(), self.message);
        self
    }

    /// The same, with more of what is wrong.
    pub(super) fn more(mut self, text: &str) -> Self {
        self.message += text;
        self
    }

    /// The same, for a caller other than a command.
    pub(super) fn into_problem(self) -> Problem {
        let Failure { message, hint } = self;
        Problem { message, hint }
    }

    /// Prints it: text on standard error, or JSON on standard output.
    pub(super) fn print(&self, json: bool) -> ExitCode {
        if json {
            report::line(&json!({ "error": self.message, "hint": self.hint }).to_string());
        } else {
            report::note(&format!("error: {}", self.message));
            if let Some(hint) = &self.hint {
                report::note(&format!("hint: {hint}"));
            }
        }
        ExitCode::from(2)
    }
}

/// For callers that print it differently.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// For errors that have their own hint.
macro_rules! from_error_with_hint {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure { message: error.to_string(), hint: error.hint().map(str::to_owned) }
            }
        }
    )*};
}
from_error_with_hint!(FileError, blockwise_mesh::Error);

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Device(error) => error.into(),
            error => {
                let hint = error.hint().map(str::to_owned);
                let message = error.to_string();
                Failure { message, hint }
            }
        }
    }
}

impl From<blockwise::Error> for Failure {
    fn from(error: blockwise::Error) -> Self {
        let mut message = error.to_string();
        if let blockwise::Error::PtxUnreadable { source, .. } = &error {
            message += &format!(": {source}");
        }
        let hint = error.hint().map(|hint| match &error {
            blockwise::Error::OutOfMemory { room, .. } => {
                let others = match room {
                    Some(room) if room.others() > room.own => {
                        "end other processes that use it (`nvidia-smi` lists them), or "
                    }
                    _ => "raise --device-memory if it is given, ",
                };
                format!("{others}lower --chunk; a command without it needs smaller input")
            }
            blockwise::Error::OutOfHostMemory { .. } => {
                format!("{hint}; a command with --chunk needs less with a lower one")
            }
            blockwise::Error::NoGpu { .. } => format!("{hint}; --device emulator needs no GPU"),
            _ => hint.to_owned(),
        });
        Failure { message, hint }
    }
}

impl From<ptx_emulator::MemoryError> for Failure {
    fn from(error: ptx_emulator::MemoryError) -> Self {
        Failure::new(error.to_string())
    }
}

impl From<Problem> for Failure {
    fn from(Problem { message, hint }: Problem) -> Self {
        Failure { message, hint }
    }
}

impl From<ShapeMismatch> for Failure {
    fn from(error: ShapeMismatch) -> Self {
        Failure::new(error.to_string()).hint("is this the reference of this very result?")
    }
}
