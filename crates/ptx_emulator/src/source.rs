use serde::{Deserialize, Serialize};
use std::fmt;

/// A place in the program that the PTX was compiled from, as its line table says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLocation {
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 when the table does not say.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}", self.file, self.line),
            column => write!(f, "{}:{}:{column}", self.file, self.line),
        }
    }
}
