//! What a page holds beside the emulator.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kernel_arguments::{Array, Files, Number, Problem};
use ptx_emulator::LaunchConfig;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Launches to be looked at side by side, and all that they need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The page's heading.
    pub title: String,
    /// The launches.
    pub launches: Vec<Launch>,
    /// Their PTX.
    pub ptx: Vec<Ptx>,
    /// The arrays that their arguments name.
    pub files: Vec<StoredFile>,
    /// The files that the PTX was compiled from.
    pub sources: Vec<Source>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// What tells it from the others.
    pub name: String,
    /// The number of its PTX.
    pub ptx: usize,
    /// The kernel.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of the dynamic shared array.
    pub shared_bytes: u32,
    /// The arguments, as `kernel_arguments` reads them.
    pub arguments: Vec<String>,
    /// The order of the threads; none is the emulator's own.
    pub seed: Option<u64>,
    /// Instructions after which the launch is given up.
    pub steps: u64,
}

impl Launch {
    /// Its shape.
    pub fn config(&self) -> LaunchConfig {
        LaunchConfig {
            grid: self.grid,
            block: self.block,
            dynamic_shared_bytes: self.shared_bytes,
        }
    }
}

/// A PTX text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ptx {
    /// Where it comes from.
    pub origin: String,
    /// The text.
    pub text: String,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name in the line table.
    pub file: String,
    /// The text.
    pub text: String,
}

/// An array that an argument names as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// The name in the argument.
    pub name: String,
    /// The type of its numbers.
    pub ty: String,
    /// Its extents, outermost first.
    pub extents: Vec<usize>,
    /// Its bytes in base64.
    pub base64: String,
}

impl StoredFile {
    /// Keeps an array.
    pub fn new(name: impl Into<String>, ty: Number, extents: Vec<usize>, bytes: &[u8]) -> Self {
        Self {
            name: name.into(),
            ty: ty.to_string(),
            extents,
            base64: BASE64_STANDARD.encode(bytes),
        }
    }
}

/// The arrays that a page carries.
#[derive(Clone, Debug, Default)]
pub struct StoredFiles(pub Vec<StoredFile>);

impl Files for StoredFiles {
    fn array(&self, path: &Path, ty: Number) -> Result<Array, Problem> {
        let named = |file: &&StoredFile| Path::new(&file.name) == path && file.ty == ty.name();
        let names = || {
            let known = self.0.iter();
            let known: Vec<_> = known
                .map(|file| format!("{} of {}", file.name, file.ty))
                .collect();
            known.join(", ")
        };
        let missing = || {
            Problem::new(format!("this page has no array {} of {ty}", path.display()))
                .hint(format!("it has: {}", names()))
        };
        let file = self.0.iter().find(named).ok_or_else(missing)?;
        let bytes = BASE64_STANDARD.decode(&file.base64);
        Ok(Array {
            extents: file.extents.clone(),
            bytes: bytes.map_err(|_| Problem::new(format!("{} is damaged", file.name)))?,
        })
    }
}
