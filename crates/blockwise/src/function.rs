//! A device function and its launch, which every kernel's typed call goes through.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use launch_contract::launch::{self, Argument, Memory, Shape};

use crate::backend::Callable;
use crate::memory::{Allocation, Core};
use crate::recording::{Recorded, record};
use crate::stream::{Stream, Work};
use crate::{Error, Result, shape};

/// A kernel found in loaded PTX, with the signature that the program expects.
#[derive(Clone)]
pub struct Function(Arc<Inner>);

struct Inner {
    callable: Arc<dyn Callable>,
    core: Arc<Core>,
    name: Box<str>,
}

impl Function {
    pub(crate) fn new(callable: Arc<dyn Callable>, core: &Arc<Core>, name: &str) -> Self {
        Self(Arc::new(Inner {
            callable,
            core: Arc::clone(core),
            name: name.into(),
        }))
    }

    fn foreign(&self) -> Error {
        Error::ForeignBuffer {
            what: format!("kernel `{}`", self.0.name),
        }
    }

    /// The allocation behind a launch's memory.
    fn allocation<'m>(&self, memory: &Memory<'m>) -> Result<&'m Arc<Allocation>> {
        let owner: &'m dyn Any = memory.owner;
        match owner.downcast_ref::<Arc<Allocation>>() {
            Some(allocation) if allocation.core.is(&self.0.core) => Ok(allocation),
            _ => Err(self.foreign()),
        }
    }
}

impl launch::Function for Function {
    type Stream = Stream;
    type Error = Error;

    unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        shape: Shape,
        arguments: &[Argument<'_>],
        memory: &[Memory<'_>],
    ) -> Result<()> {
        let Inner {
            callable,
            core,
            name,
        } = &*self.0;
        shape::check(name, shape, core.backend.properties())?;
        if stream.is_some_and(|stream| !stream.core.is(core)) {
            return Err(self.foreign());
        }
        for memory in memory {
            self.allocation(memory)?;
        }
        // Checked above: they are allocations of this device.
        let uses = memory.iter().filter_map(|memory| {
            let allocation = self.allocation(memory).ok()?;
            Some((allocation, memory.written))
        });
        let queue = match stream.map(|stream| &stream.work) {
            None => &core.queue,
            Some(Work::Run(queue)) => queue,
            Some(Work::Record(steps)) => {
                let uses = uses.map(|(allocation, written)| (Arc::clone(allocation), written));
                let function = Arc::clone(callable);
                record(
                    steps,
                    Recorded::launch(function, shape, arguments, uses.collect()),
                );
                return Ok(());
            }
        };
        let uses = uses.map(|(allocation, written)| (&**allocation, written));
        core.enqueue(queue, uses, |queue| {
            // SAFETY: the caller promises matching arguments; their memory belongs to buffers of
            // this device, which free it only after earlier work; the shape was checked.
            unsafe { callable.launch(queue, shape, arguments) }
        })
    }

    fn suggested_block(&self, shared_bytes: u32) -> Result<u32> {
        self.0.callable.suggested_block(shared_bytes)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.0.name)
    }
}
