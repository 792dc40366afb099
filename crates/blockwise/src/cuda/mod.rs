//! GPUs as devices, through `cust`.

mod codes;
mod context;
mod graph;
mod lost;
mod mark;
mod panics;
mod peers;
mod polling;
mod program;
mod queue;
mod slots;
mod staging;
mod versions;
mod waiting;

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cust::error::CudaError;
use cust::memory::CopyDestination;
use cust::memory::{DevicePointer, DeviceSlice, LockedBuffer, cuda_free, cuda_malloc};
use cust_raw::{CUjit_option, CUresult};
use libcuda_loader::{Absence, Failure};

use crate::backend::{Backend, HostMemory, Program, Queue, Replay, Started, Step};
use crate::{DeviceProperties, Error, Result};
use context::CudaContext;
use graph::CudaGraph;
use panics::Listener;
use program::CudaProgram;
use queue::CudaQueue;

pub(crate) use codes::hint;
pub(crate) use peers::peer;

/// Opens a GPU.
pub(crate) fn connect(ordinal: usize) -> Result<Started> {
    lost::usable(ordinal)?;
    let started = || -> Result<Started> {
        let context = Arc::new(CudaContext::open(ordinal)?);
        let queue = CudaQueue::open(&context, false)?;
        Ok((
            Arc::new(CudaDevice {
                context,
                queue: Arc::clone(&queue),
            }),
            queue,
        ))
    };
    started().map_err(|error| {
        let failure = libcuda_loader::last_failure();
        let count = count();
        let advice = failure.map_or("", |failure| {
            codes::opening_hint(failure, ordinal, count, is_filtered())
        });
        Error::NoGpu {
            reason: reason(ordinal, count, error, failure),
            advice,
        }
    })
}

/// Why a GPU cannot be opened, in one line.
fn reason(ordinal: usize, count: usize, error: Error, failure: Option<Failure>) -> String {
    let is_ordinal = |failure: &Failure| failure.code == CUresult::CUDA_ERROR_INVALID_DEVICE as u32;
    if failure.is_some_and(|failure| failure.absence == Some(Absence::NoDriver)) {
        return failure.map(|it| it.to_string()).unwrap_or_default();
    }
    let mut reason = match (failure.filter(is_ordinal), count) {
        (Some(failure), 0) if failure.call != "cuInit" => "the driver sees no GPU".to_owned(),
        // The driver also reports an existing GPU as invalid if it is in no usable state.
        (Some(_), count @ 1..) if ordinal < count => error.to_string(),
        (Some(_), 1) => format!("there is no gpu:{ordinal}: the driver has one GPU, gpu:0"),
        (Some(_), count @ 2..) => format!(
            "there is no gpu:{ordinal}: the driver has {count} GPUs, gpu:0 to gpu:{}",
            count - 1
        ),
        _ => error.to_string(),
    };
    if is_filtered() {
        let value = std::env::var_os(VISIBLE).unwrap_or_default();
        reason += &format!(" ({VISIBLE} is \"{}\")", value.to_string_lossy());
    }
    // The library's path shows whether it is a stub or of another driver version.
    match libcuda_loader::status() {
        Ok(library) if !reason.contains(library) => reason + &format!(" ({library})"),
        _ => reason,
    }
}

/// The variable that limits the GPUs which the driver shows a process.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

fn is_filtered() -> bool {
    std::env::var_os(VISIBLE).is_some()
}

/// The number of GPUs; 0 if the driver cannot say.
pub(crate) fn count() -> usize {
    let count =
        cust::init(cust::CudaFlags::empty()).and_then(|()| cust::device::Device::num_devices());
    count.map_or(0, |count| count as usize)
}

struct CudaDevice {
    context: Arc<CudaContext>,
    /// The device's own queue.
    queue: Arc<CudaQueue>,
}

/// The driver's code for the failed call. `cust`'s own errors, which come from no call, do not
/// occur here.
fn failure(error: CudaError) -> Failure {
    libcuda_loader::last_failure().unwrap_or(Failure {
        call: "cust",
        code: error as u32,
        absence: None,
    })
}

/// An error with the driver's message.
fn driver_error(
    context: &CudaContext,
    doing: impl Into<String>,
) -> impl FnOnce(CudaError) -> Error {
    let lost = context.lost;
    let doing = format!("{}: {}", context.name(), doing.into());
    move |error| {
        let error = unbound_error(doing)(error);
        if let Error::Driver { code, .. } = &error
            && codes::loses_context(*code)
        {
            lost.get_or_init(|| error.to_string());
        }
        error
    }
}

/// The same while there is no context yet.
fn unbound_error(doing: impl Into<String>) -> impl FnOnce(CudaError) -> Error {
    move |error| {
        let failure = failure(error);
        Error::Driver {
            doing: doing.into(),
            code: failure.code,
            failure: failure.to_string(),
        }
    }
}

/// A driver call's result for `cust`. Only success counts: `failure` looks up the real code.
fn answer(result: CUresult) -> cust::error::CudaResult<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

/// The device memory starting at `address` as a slice of bytes.
///
/// # Safety
/// The memory has that many bytes, and stays allocated as long as the slice is used.
unsafe fn bytes_at(address: u64, len: usize) -> DeviceSlice<u8> {
    // SAFETY: the caller's promise.
    unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), len) }
}

impl Backend for CudaDevice {
    fn properties(&self) -> &DeviceProperties {
        &self.context.properties
    }

    fn alloc(&self, bytes: u64) -> Result<u64> {
        self.context.enter()?;
        // SAFETY: the memory is only read by kernels and copies, for which any bytes are values.
        match unsafe { cuda_malloc::<u8>(bytes as usize) } {
            Ok(pointer) => {
                self.context.allocated(pointer.as_raw(), bytes);
                Ok(pointer.as_raw())
            }
            Err(CudaError::OutOfMemory) => Err(Error::OutOfMemory {
                device: self.context.name(),
                bytes,
                room: self.context.room(),
            }),
            Err(error) => {
                let doing = format!("allocating {bytes} bytes");
                Err(driver_error(&self.context, doing)(error))
            }
        }
    }

    /// The driver waits for all kernels whenever it frees memory.
    fn keeps_memory(&self) -> bool {
        true
    }

    unsafe fn free(&self, address: u64) {
        self.context.freed(address);
        // The driver waits for all kernels before it frees memory.
        if self.context.enter().is_ok() && self.context.settle_panics().is_ok() {
            // SAFETY: the caller's promise.
            let _ = unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) };
        }
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.context.enter()?;
        self.context.settle_panics()?;
        // Streams are blocking: a copy in the legacy default stream waits for all of them, and they
        // for it.
        // SAFETY: the caller's promise.
        unsafe { bytes_at(address, bytes.len()) }
            .copy_from(bytes)
            .map_err(driver_error(&self.context, "copying to the GPU"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // Waits for the device's own queue first, so that its errors are not reported as the
        // copy's.
        self.queue.synchronize()?;
        self.context.settle_panics()?;
        // SAFETY: the caller's promise.
        unsafe { bytes_at(address, bytes.len()) }
            .copy_to(bytes)
            .map_err(driver_error(&self.context, "copying from the GPU"))
    }

    fn queue(&self, urgent: bool) -> Result<Arc<dyn Queue>> {
        Ok(CudaQueue::open(&self.context, urgent)?)
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>> {
        self.context.enter()?;
        match LockedBuffer::new(&0_u8, bytes) {
            Ok(buffer) => Ok(Box::new(Pinned(buffer, Arc::clone(&self.context)))),
            Err(CudaError::OutOfMemory) => Err(Error::OutOfHostMemory {
                bytes: bytes as u64,
            }),
            Err(error) => Err(driver_error(&self.context, "page-locking memory")(error)),
        }
    }

    fn load(&self, ptx: &str, origin: &str) -> Result<Arc<dyn Program>> {
        self.context.enter()?;
        let text = CString::new(in_ascii(ptx)).map_err(|_| Error::NotPtx {
            origin: origin.to_owned(),
            problem: "it holds a zero byte",
        })?;
        let module = cust::module::Module::from_ptx_cstr(&text, &[]).map_err(|error| {
            let failure = failure(error);
            let reason = match versions::too_old(ptx) {
                Some(reason) => format!("{failure}: {reason}"),
                None => format!("{failure}\n{}", compiler_log(&text)),
            };
            Error::PtxRejected {
                device: self.context.name(),
                origin: origin.to_owned(),
                reason: reason.trim_end().to_owned(),
                code: Some(failure.code),
            }
        })?;
        let module = Arc::new(module);
        let listener = Listener::attach(&module, ptx)
            .map_err(driver_error(
                &self.context,
                format!("listening to panics of {origin}"),
            ))?
            .map(Arc::new);
        if let Some(listener) = &listener {
            self.context.listen(listener);
        }
        // Because of indirect calls, as in formatting, the compiler cannot compute a kernel's stack
        // size.
        if ptx.contains(".callprototype") {
            self.context.stack_for_formatting()?;
        }
        Ok(Arc::new(CudaProgram::new(
            module,
            listener,
            origin.to_owned(),
            Arc::clone(&self.context),
        )))
    }

    fn graph(&self, steps: Vec<Step>) -> Result<Box<dyn Replay>> {
        Ok(Box::new(CudaGraph::new(&self.context, &steps)?))
    }

    fn context(&self) -> *mut c_void {
        self.context.context.as_raw().cast()
    }

    fn stack_bytes(&self) -> Result<usize> {
        self.context.stack_bytes()
    }

    fn set_stack_bytes(&self, bytes: usize) -> Result<()> {
        self.context.set_stack_bytes(bytes)
    }
}

/// Page-locked memory, freed in its context.
struct Pinned(LockedBuffer<u8>, Arc<CudaContext>);

impl HostMemory for Pinned {
    fn bytes(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The memory is freed next, which needs the context. Errors are dropped.
        let _ = self.1.enter();
    }
}

/// The text with `?` for letters outside ASCII: the driver's compiler rejects a module that has
/// one, in a comment or a source's path too (`.file 1 "/home/jürgen/lib.rs"`). No other place has
/// any.
fn in_ascii(ptx: &str) -> String {
    ptx.replace(|letter: char| !letter.is_ascii(), "?")
}

/// The driver compiler's log for a rejected text. `cust` cannot provide it.
fn compiler_log(text: &CString) -> String {
    let mut log = vec![0_u8; 8192];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; the log's address and size are passed as the driver asks,
    // and `log` outlives the call.
    let result = unsafe {
        cust_raw::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the module was loaded just now and has no other users.
        unsafe { cust_raw::cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_driver_gets_ascii() {
        let text = ".file 1 \"/home/jürgen/β.rs\" // x · y\n";
        let plain = ".file 1 \"/home/j?rgen/?.rs\" // x ? y\n";
        assert_eq!(super::in_ascii(text), plain);
        assert_eq!(super::in_ascii(plain), plain);
    }
}
