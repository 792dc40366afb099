use ptx_emulator::MemoryError;
use std::fmt;

/// Why arguments cannot be passed, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one line.
    pub message: String,
    /// Advice.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without advice.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        Self::new(error.to_string())
    }
}
