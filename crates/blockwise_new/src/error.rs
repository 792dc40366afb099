//! Why nothing was created.

use std::io;
use std::path::Path;

use toml_edit::TomlError;

/// Why a project could not be created or changed. Nothing was overwritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        Self::new(format!("{doing} {}: {error}", path.display()))
    }

    /// A file that is no TOML.
    pub(crate) fn toml(path: &Path, text: &str, error: &TomlError) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text[..start].matches('\n').count();
        // The lines after the first repeat it in more detail.
        let message = error.message().lines().next().unwrap_or_default();
        Self::new(format!("{}:{line}: {message}", path.display()))
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
