//! Memory that is passed by its address.

use std::path::{Path, PathBuf};

use ptx_emulator::{Emulator, MemoryError};
use rand::{SeedableRng, rngs::StdRng};

use super::number::Number;
use crate::cli::failure::Failure;
use crate::cli::operand;

/// Elements that are made at a time: a buffer may be larger than the host's memory until somebody writes it.
const CHUNK: usize = 1 << 14;

/// A buffer as the user describes it.
pub(super) struct Buffer {
    pub(super) ty: Number,
    /// Elements; `None` takes a file's.
    pub(super) len: Option<usize>,
    pub(super) fill: Fill,
    pub(super) is_slice: bool,
    /// The file for its contents after the launch.
    pub(super) save: Option<PathBuf>,
}

/// What a buffer holds before the launch.
pub(super) enum Fill {
    /// Nobody writes it.
    Nothing,
    Zeros,
    Iota,
    Random(u64),
    File(PathBuf),
}

impl Buffer {
    /// Puts it into the emulator's memory: its address and its length in elements.
    pub(super) fn place(&self, emulator: &Emulator) -> Result<(u64, usize), Failure> {
        let (len, contents) = match &self.fill {
            Fill::File(path) => {
                let contents = self.contents(path)?;
                (contents.len() / self.ty.size(), Some(contents))
            }
            _ => (self.len.unwrap_or(0), None),
        };
        let bytes = (len as u64).saturating_mul(self.ty.size() as u64);
        let address = emulator.alloc(bytes)?;
        if let Some(contents) = contents {
            emulator.write(address, &contents)?;
        } else {
            self.fill(emulator, address, len)?;
        }
        Ok((address, len))
    }

    fn fill(&self, emulator: &Emulator, address: u64, len: usize) -> Result<(), MemoryError> {
        let mut random = match self.fill {
            Fill::Nothing => return Ok(()),
            Fill::Random(seed) => Some(StdRng::seed_from_u64(seed)),
            Fill::Zeros | Fill::Iota | Fill::File(_) => None,
        };
        let size = self.ty.size();
        let mut bytes = Vec::with_capacity(CHUNK.min(len) * size);
        for start in (0..len).step_by(CHUNK) {
            let count = CHUNK.min(len - start);
            bytes.clear();
            match &mut random {
                Some(random) => self.ty.random(count, random, &mut bytes),
                None if matches!(self.fill, Fill::Iota) => {
                    self.ty.iota(start..start + count, &mut bytes);
                }
                None => bytes.resize(count * size, 0),
            }
            emulator.write(address + (start * size) as u64, &bytes)?;
        }
        Ok(())
    }

    /// A file's elements; a length that is given must be its own.
    fn contents(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        let (stored, bytes) = operand::elements(path)?;
        let problem = |reason: String| Failure::new(format!("{}: {reason}", path.display()));
        let elements = bytes.len() / stored.bytes();
        if let Some(len) = self.len
            && len != elements
        {
            return Err(
                problem(format!("it has {elements} elements, not {len}")).hint(format!(
                    "leave the length out: {}[]={}",
                    self.ty,
                    path.display()
                )),
            );
        }
        self.ty.convert(stored, bytes).map_err(|reason| {
            problem(reason).hint(
                "floats take floats of no more bits, and integers take integers that they can hold",
            )
        })
    }
}
