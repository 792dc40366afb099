//! PTX loaded into a device.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use launch_contract::launch::{Argument, Entry, Function as _, Memory, Shape, Target};

use crate::backend::Program;
use crate::memory::Core;
use crate::ptx;
use crate::signature::{self, Parameters};
use crate::{Error, Function, Result, Stream};

/// The architecture from which on kernels with the option `starts_early` wait for the one before.
const STARTS_EARLY: u32 = 90;

/// PTX loaded into a device. Kernels are launched from it as embedded ones are from the device.
/// Keeps its device alive.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    program: Arc<dyn Program>,
    core: Arc<Core>,
    origin: String,
    /// The signatures that the PTX records, by kernel.
    records: HashMap<String, String>,
    /// The parameters that the PTX declares, by kernel.
    parameters: HashMap<String, Parameters>,
    /// Whether its architecture has kernels that start early.
    has_early: bool,
}

impl Module {
    pub(crate) fn load(core: &Arc<Core>, text: &str, origin: &str) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            program: core.with_room(|| core.backend.load(text, origin))?,
            core: Arc::clone(core),
            origin: origin.to_owned(),
            records: signature::records(text),
            parameters: signature::parameters(text),
            has_early: ptx::target_of_text(text) >= Some(STARTS_EARLY),
        })))
    }

    /// The kernel of an entry, if its signature equals the program's.
    pub(crate) fn find(&self, entry: &Entry) -> Result<Function> {
        let Inner {
            program,
            core,
            origin,
            records,
            parameters,
            has_early,
        } = &*self.0;
        let recorded = records.get(entry.name).map(String::as_str);
        // Where the record says so, `#[kernel]` has written the wait.
        let is_early = |record: &str| record.lines().any(|line| line == "starts early");
        let function =
            program.function(entry.name, *has_early && recorded.is_some_and(is_early))?;
        if recorded.is_none() && !records.is_empty() {
            return Err(Error::Contract {
                kernel: entry.name,
                place: entry.place,
                origin: origin.clone(),
                difference: "it has no record there, and other kernels have".to_owned(),
            });
        }
        let declared = parameters.get(entry.name);
        signature::compare(entry, recorded, declared, origin)?;
        Ok(Function::new(function, core, entry.name))
    }

    /// Starts a kernel by its name in the PTX: for tools that run PTX without its program. Programs
    /// launch kernels through their handles.
    ///
    /// # Errors
    /// If there is no such kernel, an argument is on another device, the device refuses the launch
    /// or, on the emulator, the kernel faults.
    ///
    /// # Safety
    /// `arguments` are the kernel's parameters in number, order and type, `memory` lists all memory
    /// that they point to, and the kernel stays within it: on a GPU nothing checks this.
    pub unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        kernel: &str,
        shape: Shape,
        arguments: &[Argument<'_>],
        memory: &[Memory<'_>],
    ) -> Result<()> {
        let Inner { program, core, .. } = &*self.0;
        let function = Function::new(program.function(kernel, false)?, core, kernel);
        // SAFETY: the caller's promise.
        unsafe { function.launch(stream, shape, arguments, memory) }
    }
}

// SAFETY: `load_ptx`'s caller has promised that the PTX does what its kernels' signatures say, and
// the signatures are compared. `Function::launch` orders the uses of memory, and a buffer frees its
// memory after them.
unsafe impl Target for Module {
    type Function = Function;
    type Stream = Stream;
    type Error = Error;

    fn function(&self, entry: &'static Entry) -> Result<Function> {
        self.find(entry)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.0.origin)
    }
}
