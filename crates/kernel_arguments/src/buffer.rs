//! Memory that is passed by its address.

use crate::number::{iota, random};
use crate::{Array, Files, Problem, Type};
use ptx_emulator::{Emulator, MemoryError};
use rand::{SeedableRng, rngs::StdRng};
use std::path::{Path, PathBuf};

/// Elements that are generated together: a buffer may be larger than the host's memory until it is
/// written.
const CHUNK: usize = 1 << 14;

/// A buffer as the user describes it.
pub(crate) struct Buffer {
    pub(crate) ty: Type,
    /// The number of elements; `None` takes the file's.
    pub(crate) len: Option<usize>,
    pub(crate) fill: Fill,
    pub(crate) passed: Lengths,
    /// The file for its contents after the launch.
    pub(crate) save: Option<PathBuf>,
}

/// What is passed with a buffer's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Nothing.
    None,
    /// Its length: a slice.
    Len,
    /// Rows and columns; `None` takes the file's.
    Matrix(Option<[usize; 2]>),
}

impl Lengths {
    /// The number of them.
    pub(crate) fn count(self) -> usize {
        match self {
            Lengths::None => 0,
            Lengths::Len => 1,
            Lengths::Matrix(_) => 2,
        }
    }

    /// The numbers, for a buffer of `len` elements and a file's extents.
    ///
    /// # Errors
    /// If a file is no matrix, or one of another shape.
    pub(crate) fn extents(
        self,
        len: usize,
        file: Option<&[usize]>,
        written: &str,
    ) -> Result<Vec<usize>, Problem> {
        Ok(match (self, file) {
            (Lengths::None, _) => Vec::new(),
            (Lengths::Len, _) => vec![len],
            (Lengths::Matrix(Some(declared)), Some(file)) if declared != file => {
                let shape = format!("`{written}`: the file's shape is {file:?}");
                return Err(
                    Problem::new(shape).hint("leave rows and columns out: matrix:f32[]=x.npy")
                );
            }
            (Lengths::Matrix(Some(declared)), _) => declared.to_vec(),
            (Lengths::Matrix(None), Some(&[rows, cols])) => vec![rows, cols],
            (Lengths::Matrix(None), file) => {
                let shape = file.unwrap_or_default();
                return Err(Problem::new(format!(
                    "`{written}`: the file's shape is {shape:?}, which is no matrix"
                )));
            }
        })
    }
}

/// The contents of a buffer before the launch.
pub(crate) enum Fill {
    /// Not written before the launch.
    Nothing,
    Zeros,
    Iota,
    Random(u64),
    File(PathBuf),
}

impl Buffer {
    /// Puts it into the emulator's memory; returns its address, its length in elements and a file's
    /// extents.
    pub(crate) fn place(
        &self,
        emulator: &Emulator,
        files: &dyn Files,
    ) -> Result<(u64, usize, Option<Vec<usize>>), Problem> {
        if let Fill::File(path) = &self.fill {
            let Array { extents, bytes } = files.array(path, self.ty)?;
            let len = bytes.len() / self.ty.bytes();
            self.check_len(path, len)?;
            let address = emulator.alloc(bytes.len() as u64)?;
            emulator.write(address, &bytes)?;
            return Ok((address, len, Some(extents)));
        }
        let len = self.len.unwrap_or(0);
        let bytes = (len as u64).saturating_mul(self.ty.bytes() as u64);
        let address = emulator.alloc(bytes)?;
        self.fill(emulator, address, len)?;
        Ok((address, len, None))
    }

    fn fill(&self, emulator: &Emulator, address: u64, len: usize) -> Result<(), MemoryError> {
        let mut generator = match self.fill {
            Fill::Nothing => return Ok(()),
            Fill::Random(seed) => Some(StdRng::seed_from_u64(seed)),
            Fill::Zeros | Fill::Iota | Fill::File(_) => None,
        };
        let size = self.ty.bytes();
        let mut bytes = Vec::with_capacity(CHUNK.min(len) * size);
        for start in (0..len).step_by(CHUNK) {
            let count = CHUNK.min(len - start);
            bytes.clear();
            match &mut generator {
                Some(generator) => random(self.ty, count, generator, &mut bytes),
                None if matches!(self.fill, Fill::Iota) => {
                    iota(self.ty, start..start + count, &mut bytes);
                }
                None => bytes.resize(count * size, 0),
            }
            emulator.write(address + (start * size) as u64, &bytes)?;
        }
        Ok(())
    }

    /// A given length must equal the file's.
    fn check_len(&self, path: &Path, elements: usize) -> Result<(), Problem> {
        let path = path.display();
        match self.len {
            Some(len) if len != elements => Err(Problem::new(format!(
                "{path}: it has {elements} elements, not {len}"
            ))
            .hint(format!("leave the length out: {}[]={path}", self.ty))),
            _ => Ok(()),
        }
    }
}
