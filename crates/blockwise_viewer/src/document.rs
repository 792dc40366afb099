//! What a page contains besides the emulator.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kernel_arguments::{Array, Files, Problem, Type};
use ptx_emulator::{CheckOptions, LaunchConfig};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Launches to compare side by side, and everything they need.
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
    /// Distinguishes it from the other launches.
    pub name: String,
    /// The number of its PTX.
    pub ptx: usize,
    /// The kernel's entry point.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of the dynamic shared array.
    pub shared_bytes: u32,
    /// The arguments, as `kernel_arguments` reads them.
    pub arguments: Vec<String>,
    /// The seed of the thread order; `None` for the emulator's own order.
    pub seed: Option<u64>,
    /// The launch is abandoned after this many instructions.
    pub steps: u64,
    /// Which detectors run.
    pub detectors: Detectors,
}

/// Which detectors run, in the terms of `blockwise check`'s options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detectors {
    /// Races.
    pub race: bool,
    /// Bytes of global memory that are checked for races.
    pub race_bytes: u64,
    /// Uses of uninitialised values.
    pub init: bool,
    /// The most distinct findings to keep.
    pub max_findings: u32,
    /// Reports notes as errors.
    pub strict: bool,
}

impl Default for Detectors {
    fn default() -> Self {
        Self::of(&CheckOptions::default())
    }
}

impl Detectors {
    /// The detectors of a check, for any thread order.
    pub fn of(options: &CheckOptions) -> Self {
        Self {
            race: options.race,
            race_bytes: options.race_bytes,
            init: options.init,
            max_findings: u32::try_from(options.max_findings).unwrap_or(u32::MAX),
            strict: options.strict,
        }
    }

    pub(crate) fn options(&self) -> CheckOptions {
        CheckOptions {
            race: self.race,
            race_bytes: self.race_bytes,
            init: self.init,
            max_findings: self.max_findings as usize,
            strict: self.strict,
            ..CheckOptions::default()
        }
    }
}

impl Document {
    /// Empties the lines of kernels that no launch runs: line numbers stay, and the page opens
    /// faster.
    pub fn leave_out_other_kernels(&mut self) {
        for (number, ptx) in self.ptx.iter_mut().enumerate() {
            let launches = self.launches.iter().filter(|launch| launch.ptx == number);
            let kept: Vec<&str> = launches.map(|launch| launch.kernel.as_str()).collect();
            // Braces open in the kernel being left out; the kernel ends with the last one.
            let mut inside: Option<i32> = None;
            let mut text = String::with_capacity(ptx.text.len());
            for line in ptx.text.lines() {
                if entry(line).is_some_and(|name| !kept.contains(&name)) {
                    inside = Some(0);
                }
                if inside.is_none() {
                    text += line;
                }
                text.push('\n');
                let code = line.split("//").next().unwrap_or(line);
                let count = |brace| code.matches(brace).count() as i32;
                inside = inside.map(|open| open + count('{') - count('}'));
                if inside == Some(0) && code.contains('}') {
                    inside = None;
                }
            }
            ptx.text = text;
        }
    }
}

/// The kernel whose declaration starts in a line.
fn entry(line: &str) -> Option<&str> {
    let (before, name) = line.split_once(".entry")?;
    let declares = before.split_whitespace().all(|word| word.starts_with('.'));
    let name = name.trim_start();
    let end = name.find(|c: char| c == '(' || c.is_whitespace());
    declares.then_some(&name[..end.unwrap_or(name.len())])
}

impl Launch {
    /// The launch's shape.
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
    pub fn new(name: impl Into<String>, ty: Type, extents: Vec<usize>, bytes: &[u8]) -> Self {
        Self {
            name: name.into(),
            ty: ty.to_string(),
            extents,
            base64: BASE64_STANDARD.encode(bytes),
        }
    }
}

/// The arrays in a page.
#[derive(Clone, Debug, Default)]
pub struct StoredFiles(pub Vec<StoredFile>);

impl Files for StoredFiles {
    fn array(&self, path: &Path, ty: Type) -> Result<Array, Problem> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kernels_leave_empty_lines() {
        let text = ".version 7.0\n.visible .entry a(\n)\n{\n{ add;\n}\n ret;\n}\n.global .u32 g;\n.entry b()\n{\n ret;\n}\n";
        let launch = Launch {
            name: "b".to_owned(),
            ptx: 0,
            kernel: "b".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            shared_bytes: 0,
            arguments: Vec::new(),
            seed: None,
            steps: 1,
            detectors: Detectors::default(),
        };
        let ptx = Ptx {
            origin: String::new(),
            text: text.to_owned(),
        };
        let mut document = Document {
            launches: vec![launch],
            ptx: vec![ptx],
            ..Document::default()
        };
        document.leave_out_other_kernels();
        let expected = ".version 7.0\n\n\n\n\n\n\n\n.global .u32 g;\n.entry b()\n{\n ret;\n}\n";
        assert_eq!(document.ptx[0].text, expected);
    }
}
