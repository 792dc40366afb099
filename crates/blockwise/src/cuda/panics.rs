//! Panics of kernels on a GPU: a module that can panic writes the first panic into memory shared
//! with the host, as described in `launch_contract::panic`.

use std::ffi::CString;
use std::mem::offset_of;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cust::error::{CudaError, CudaResult};
use cust::memory::{CopyDestination, LockedBuffer};
use cust::module::{Module, Symbol};
use cust::stream::Stream;
use launch_contract::panic::{CHANNEL, Channel, Report};

use crate::Error;

/// Receives the panics of one module.
pub(super) struct Listener {
    module: Arc<Module>,
    /// A [`Report`], as words, which the GPU writes. The lock is between threads of the host.
    report: Mutex<LockedBuffer<u32>>,
    /// The kernels that have not been waited for, each with its stream.
    kernels: Mutex<Vec<(usize, Arc<str>)>>,
}

/// A [`Channel`], as words.
type ChannelWords = [u32; size_of::<Channel>() / size_of::<u32>()];

/// The word of a report that contains its state.
const STATE: usize = offset_of!(Report, state) / size_of::<u32>();

impl Listener {
    /// Starts listening to a module of the current context, compiled from this PTX. `None` if it
    /// cannot panic.
    pub(super) fn attach(module: &Arc<Module>, ptx: &str) -> CudaResult<Option<Self>> {
        // Querying a missing symbol is an error, which compute-sanitizer would report.
        if !ptx.contains(CHANNEL) {
            return Ok(None);
        }
        match channel(module) {
            Ok(_) => {}
            Err(CudaError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        }
        let words = size_of::<Report>() / size_of::<u32>();
        let listener = Self {
            module: Arc::clone(module),
            report: Mutex::new(LockedBuffer::new(&0, words)?),
            kernels: Mutex::default(),
        };
        listener.listen()?;
        Ok(Some(listener))
    }

    /// Clears the report and lets the module write it.
    pub(super) fn listen(&self) -> CudaResult<()> {
        let mut report = lock(&self.report);
        report.fill(0);
        let address = report.as_ptr() as u64;
        let words: ChannelWords = [address as u32, (address >> 32) as u32, 0, 0];
        channel(&self.module)?.copy_from(&words)
    }

    /// Registers a kernel that is about to start in a stream.
    pub(super) fn starts(&self, stream: &Stream, kernel: &Arc<str>) {
        let mut kernels = lock(&self.kernels);
        let stream = id(stream);
        let known =
            |(other, name): &(usize, Arc<str>)| *other == stream && Arc::ptr_eq(name, kernel);
        if !kernels.iter().any(known) {
            kernels.push((stream, Arc::clone(kernel)));
        }
    }

    /// Whether a kernel has panicked. It may still run.
    pub(super) fn has_panic(&self) -> bool {
        let report = lock(&self.report);
        // SAFETY: a word of the buffer. Volatile, because a running kernel may write it.
        let state = unsafe { report.as_ptr().add(STATE).read_volatile() };
        state == Report::WRITTEN
    }

    /// Forgets the kernels of a stream: all have finished.
    pub(super) fn ended(&self, stream: &Stream) {
        lock(&self.kernels).retain(|(other, _)| *other != id(stream));
    }

    /// The report as an error, if a kernel has panicked. It names each kernel that may have.
    pub(super) fn panic(&self) -> Option<Error> {
        if !self.has_panic() {
            return None;
        }
        let kernels = lock(&self.kernels);
        let mut names: Vec<&str> = kernels.iter().map(|(_, kernel)| &**kernel).collect();
        names.sort_unstable();
        names.dedup();
        let report = lock(&self.report);
        // SAFETY: the buffer has at least a report's size and alignment, any words are valid, and
        // its state says that all are written.
        let report = unsafe { report.as_ptr().cast::<Report>().read_volatile() };
        Some(Error::Panicked {
            kernel: names.join("` or `"),
            message: report.message(),
            file: report.file.as_str().to_owned(),
            line: report.line,
            block: report.block,
            thread: report.thread,
        })
    }
}

/// A number for each stream.
fn id(stream: &Stream) -> usize {
    stream.as_inner() as usize
}

fn channel(module: &Module) -> CudaResult<Symbol<'_, ChannelWords>> {
    let name = CString::new(CHANNEL).map_err(|_| CudaError::InvalidValue)?;
    module.get_global(&name)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
