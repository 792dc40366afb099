//! Launches of any kernel from the command line: `kernel_arguments` reads what is written, files
//! come from the disk and go there.

mod launch;
mod number;

use std::cell::RefCell;
use std::path::Path;

use blockwise_ops::AnyArray;
use blockwise_viewer::StoredFile;
use kernel_arguments::{Array, Files, Placed, Problem, Role, Type};
use ptx_emulator::{Emulator, Entry, LoadedModule};

use super::failure::Failure;
use super::operand::{self, ArrayOutput};

pub(super) use launch::{ARGUMENTS_HELP, Launch};

/// The arguments of a launch on an emulator.
pub(super) struct Arguments {
    bound: kernel_arguments::Arguments,
    outputs: Vec<(ArrayOutput, Placed)>,
}

impl Arguments {
    /// Reads what the user wrote for the parameters of `kernel`, puts the buffers into the
    /// emulator's memory, and binds references of the module.
    pub(super) fn bind(
        kernel: &Entry,
        written: &[String],
        emulator: &Emulator,
        module: &mut LoadedModule,
    ) -> Result<Self, Failure> {
        Self::bind_with(kernel, written, (emulator, module), &Disk)
    }

    /// The same with arrays from elsewhere.
    pub(super) fn bind_with(
        kernel: &Entry,
        written: &[String],
        (emulator, module): (&Emulator, &mut LoadedModule),
        files: &dyn Files,
    ) -> Result<Self, Failure> {
        let mut arguments = Self::bind_only(kernel, written, (emulator, module), files)?;
        for placed in &arguments.bound.placed {
            if let Some(file) = &placed.save {
                (arguments.outputs).push((ArrayOutput::prepare(file)?, placed.clone()));
            }
        }
        Ok(arguments)
    }

    /// The same for a launch whose buffers are looked at, not saved.
    pub(super) fn bind_only(
        kernel: &Entry,
        written: &[String],
        (emulator, module): (&Emulator, &mut LoadedModule),
        files: &dyn Files,
    ) -> Result<Self, Failure> {
        let bound = kernel_arguments::Arguments::bind(kernel, written, (emulator, module), files)?;
        Ok(Self {
            bound,
            outputs: Vec::new(),
        })
    }

    /// The bytes of each parameter.
    pub(super) fn bytes(&self) -> Vec<&[u8]> {
        self.bound.bytes()
    }

    /// The parameters that are addresses of buffers, and the names of their elements' types.
    pub(super) fn elements(&self) -> impl Iterator<Item = (usize, String)> {
        let bytes = self.bound.bytes();
        self.bound
            .placed
            .iter()
            .filter_map(move |placed| match placed.role {
                // A texture's handle is no address.
                Role::Parameter(at) if bytes[at] == placed.address.to_le_bytes() => {
                    Some((at, placed.ty.to_string()))
                }
                _ => None,
            })
    }

    /// Saves the buffers that are to be saved, in their own types.
    pub(super) fn save(self, emulator: &Emulator) -> Result<(), Failure> {
        for (
            file,
            Placed {
                ty, address, len, ..
            },
        ) in self.outputs
        {
            let mut array = AnyArray::zeros(ty, &[len])?;
            emulator.read(address, array.bytes_mut())?;
            let mut writer = file.create(array.shape(), ty)?;
            writer.write_bytes(array.bytes())?;
            writer.finish()?;
        }
        Ok(())
    }
}

/// Arrays of `.npy` and `.csv` files.
pub(super) struct Disk;

impl Files for Disk {
    fn array(&self, path: &Path, ty: Type) -> Result<Array, Problem> {
        // Opened once: a stream can be read once.
        let (reader, extents, _) = operand::reader(path).map_err(Failure::into_problem)?;
        let (stored, bytes) = operand::elements(reader).map_err(Failure::into_problem)?;
        let bytes = number::convert(ty, stored, bytes).map_err(|reason| {
            Problem::new(format!("{}: {reason}", path.display())).hint(
                "floats take floats of no more bits, and integers take integers that they can hold",
            )
        })?;
        Ok(Array { extents, bytes })
    }
}

/// Reads files and keeps what was read, for a page.
#[derive(Default)]
pub(super) struct Recording(RefCell<Vec<StoredFile>>);

impl Recording {
    /// What was read.
    pub(super) fn take(self) -> Vec<StoredFile> {
        self.0.into_inner()
    }
}

impl Files for Recording {
    fn array(&self, path: &Path, ty: Type) -> Result<Array, Problem> {
        let array = Disk.array(path, ty)?;
        let name = path.to_string_lossy();
        let stored = StoredFile::new(name, ty, array.extents.clone(), &array.bytes);
        self.0.borrow_mut().push(stored);
        Ok(array)
    }
}
