//! A GPU as a device, through `cust`.

use std::any::Any;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cust::CudaApiVersion;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::DeviceAttribute;
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DevicePointer, DeviceSlice, LockedBuffer, cuda_free,
    cuda_malloc,
};
use cust::stream::{Stream, StreamFlags};
use cust_raw::{CUdevice_attribute, CUfunction_attribute, CUjit_option, CUresult};
use libcuda_loader::Failure;

use super::backend::{Backend, HostMemory, Moment, Program, Queue};
use super::error::loses_context;
use super::panics::Listener;
use super::waiting::{LOST, usable};
use super::{DeviceError, DeviceKind, DeviceProperties, LaunchPlan};

/// A thread's stack in bytes when kernels format, which takes more than the 1 KiB that CUDA gives unasked.
const STACK_FOR_FORMATTING: usize = 8 << 10;

/// Opens the first GPU that the driver shows.
pub(super) fn connect() -> Result<Arc<dyn Backend>, DeviceError> {
    usable()?;
    match CudaDevice::connect() {
        Ok(device) => Ok(Arc::new(device)),
        Err(error) => Err(DeviceError::NoGpu {
            reason: match libcuda_loader::status() {
                Ok(_) => failure(error).to_string(),
                Err(missing) => missing.to_string(),
            },
        }),
    }
}

/// Fields are dropped in this order: the stream before its context.
pub(super) struct CudaDevice {
    pub(super) stream: Stream,
    pub(super) context: Context,
    properties: DeviceProperties,
    /// The user has chosen the stack's size.
    stack_is_set: AtomicBool,
    /// The modules that can panic.
    pub(super) listeners: Mutex<Vec<Weak<Listener>>>,
}

struct CudaProgram {
    module: Arc<cust::module::Module>,
    listener: Option<Arc<Listener>>,
    origin: String,
    device: Arc<CudaDevice>,
}

/// What the driver answered behind `error`. `cust`'s own errors, which come from no call, are not met here.
fn failure(error: CudaError) -> Failure {
    libcuda_loader::last_failure().unwrap_or(Failure {
        call: "cust",
        code: error as u32,
    })
}

pub(super) fn driver_error(doing: impl Into<String>) -> impl FnOnce(CudaError) -> DeviceError {
    move |error| {
        let failure = failure(error);
        let error = DeviceError::Driver {
            doing: doing.into(),
            failure,
        };
        if loses_context(failure.code) {
            LOST.get_or_init(|| error.to_string());
        }
        error
    }
}

fn check(doing: &str, result: CUresult) -> Result<(), DeviceError> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(driver_error(doing)(CudaError::UnknownError)),
    }
}

impl CudaDevice {
    fn connect() -> CudaResult<Self> {
        cust::init(cust::CudaFlags::empty())?;
        let device = cust::device::Device::get_device(0)?;
        let properties = properties(device)?;
        let context = Context::new(device)?;
        CurrentContext::set_current(&context)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None)?;
        Ok(Self {
            stream,
            context,
            properties,
            stack_is_set: AtomicBool::new(false),
            listeners: Mutex::default(),
        })
    }

    /// Makes the context current in this thread, as every call below needs.
    fn enter(&self) -> Result<(), DeviceError> {
        usable()?;
        CurrentContext::set_current(&self.context)
            .map_err(driver_error("entering the GPU's context"))
    }

    /// Calls through pointers, as formatting makes them, leave the compiler unable to count a kernel's stack.
    fn stack_for_formatting(&self) -> Result<(), DeviceError> {
        let is_set = self.stack_is_set.load(Ordering::Relaxed);
        if is_set || self.stack_bytes()? >= STACK_FOR_FORMATTING {
            return Ok(());
        }
        resize_stack(STACK_FOR_FORMATTING)
    }
}

/// In the current context.
fn resize_stack(bytes: usize) -> Result<(), DeviceError> {
    CurrentContext::set_resource_limit(ResourceLimit::StackSize, bytes).map_err(driver_error(
        format!("asking for a stack of {bytes} bytes a thread"),
    ))
}

fn properties(device: cust::device::Device) -> CudaResult<DeviceProperties> {
    use DeviceAttribute::*;
    let number = |attribute| Ok(device.get_attribute(attribute)?.unsigned_abs());
    let version = CudaApiVersion::get()?;
    let shared_bytes_per_block = number(MaxSharedMemoryPerBlock)?;
    Ok(DeviceProperties {
        name: device.name()?,
        kind: DeviceKind::Cuda,
        compute_capability: (
            number(ComputeCapabilityMajor)?,
            number(ComputeCapabilityMinor)?,
        ),
        multiprocessors: number(MultiprocessorCount)?,
        warp_size: number(WarpSize)?,
        max_threads_per_block: number(MaxThreadsPerBlock)?,
        max_block: [
            number(MaxBlockDimX)?,
            number(MaxBlockDimY)?,
            number(MaxBlockDimZ)?,
        ],
        max_grid: [
            number(MaxGridDimX)?,
            number(MaxGridDimY)?,
            number(MaxGridDimZ)?,
        ],
        shared_bytes_per_block,
        shared_bytes_opt_in: shared_opt_in(device).unwrap_or(shared_bytes_per_block),
        shared_bytes_per_multiprocessor: number(MaxSharedMemoryPerMultiprocessor)?,
        l2_bytes: number(L2CacheSize)?,
        memory_bytes: device.total_memory()? as u64,
        driver: format!("CUDA {}.{}", version.major(), version.minor()),
    })
}

/// `cust` does not know this attribute. `None` when the driver does not either.
fn shared_opt_in(device: cust::device::Device) -> Option<u32> {
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let mut bytes = 0;
    // SAFETY: `bytes` is a valid place for the answer, and `device` came from the driver.
    let result = unsafe { cust_raw::cuDeviceGetAttribute(&mut bytes, attribute, device.as_raw()) };
    if result != CUresult::CUDA_SUCCESS {
        return None;
    }
    u32::try_from(bytes).ok()
}

/// The device memory from `address` on as a slice of bytes.
fn bytes_at(address: u64, len: usize) -> DeviceSlice<u8> {
    // SAFETY: `Backend` is only called with addresses that `alloc` gave for at least `len` bytes and that were not
    // freed since; the slice does not outlive the call.
    unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), len) }
}

impl Backend for CudaDevice {
    fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    fn alloc(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.enter()?;
        // SAFETY: the memory is only read by kernels and copies, for which any bytes are values.
        match unsafe { cuda_malloc::<u8>(bytes as usize) } {
            Ok(pointer) => Ok(pointer.as_raw()),
            Err(CudaError::OutOfMemory) => Err(DeviceError::OutOfMemory {
                device: self.properties.name.clone(),
                bytes,
            }),
            Err(error) => Err(driver_error(format!("allocating {bytes} bytes"))(error)),
        }
    }

    fn free(&self, address: u64) {
        // The driver waits for all kernels before it gives memory back.
        if self.enter().is_ok() && self.settle_panics().is_ok() {
            // SAFETY: the address came from `alloc` and is freed once.
            let _ = unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) };
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.enter()?;
        self.settle_panics()?;
        let mut memory = bytes_at(address, bytes.len());
        memory
            .copy_from(bytes)
            .map_err(driver_error("copying to the GPU"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let memory = bytes_at(address, bytes.len());
        memory
            .copy_to(bytes)
            .map_err(driver_error("copying from the GPU"))
    }

    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError> {
        self.enter()?;
        // On the stream, so that the next launch waits for it and a time taken around that launch need not.
        // SAFETY: the stream orders this before every later launch and copy, and the bytes may be anything.
        unsafe { bytes_at(address, bytes).set_8_async(value, &self.stream) }
            .map_err(driver_error("filling memory of the GPU"))
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the stream orders the copy before every later launch and copy; `bytes_at` says that the memory is there.
        unsafe { bytes_at(to, bytes).async_copy_from(&bytes_at(from, bytes), &self.stream) }
            .map_err(driver_error("copying within the GPU"))
    }

    fn record(&self) -> Result<Box<dyn Moment>, DeviceError> {
        self.enter()?;
        let record = || {
            let event = Event::new(EventFlags::DEFAULT)?;
            event.record(&self.stream)?;
            Ok(event)
        };
        Ok(Box::new(
            record().map_err(driver_error("recording an event"))?,
        ))
    }

    fn queue(self: Arc<Self>) -> Result<Arc<dyn Queue>, DeviceError> {
        self.enter()?;
        // It waits for the default stream, where `write` and `read` copy, and that one for it.
        let stream =
            Stream::new(StreamFlags::DEFAULT, None).map_err(driver_error("making a stream"))?;
        Ok(Arc::new(CudaQueue {
            stream,
            device: self,
        }))
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        self.enter()?;
        match LockedBuffer::new(&0_u8, bytes) {
            Ok(buffer) => Ok(Box::new(buffer)),
            Err(CudaError::OutOfMemory) => Err(DeviceError::OutOfHostMemory {
                bytes: bytes as u64,
            }),
            Err(error) => Err(driver_error("page-locking memory")(error)),
        }
    }

    fn load(self: Arc<Self>, ptx: &str, origin: &str) -> Result<Box<dyn Program>, DeviceError> {
        self.enter()?;
        let text = CString::new(ptx).map_err(|_| DeviceError::NotPtx {
            origin: origin.to_owned(),
            problem: "it holds a zero byte",
        })?;
        let module = cust::module::Module::from_ptx_cstr(&text, &[]).map_err(|error| {
            let failure = failure(error);
            DeviceError::PtxRejected {
                device: self.properties.name.clone(),
                origin: origin.to_owned(),
                reason: format!("{failure}\n{}", compiler_log(&text))
                    .trim_end()
                    .to_owned(),
                failure: Some(failure),
            }
        })?;
        let module = Arc::new(module);
        let listening = || driver_error(format!("listening to panics of {origin}"));
        let listener = Listener::attach(&module, ptx)
            .map_err(listening())?
            .map(Arc::new);
        if let Some(listener) = &listener {
            self.listeners
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Arc::downgrade(listener));
        }
        if ptx.contains(".callprototype") {
            self.stack_for_formatting()?;
        }
        Ok(Box::new(CudaProgram {
            module,
            listener,
            origin: origin.to_owned(),
            device: self,
        }))
    }

    fn stack_bytes(&self) -> Result<usize, DeviceError> {
        self.enter()?;
        CurrentContext::get_resource_limit(ResourceLimit::StackSize)
            .map_err(driver_error("asking for the stack's size"))
    }

    fn set_stack_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        self.settle_panics()?;
        resize_stack(bytes)?;
        self.stack_is_set.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.enter()?;
        self.wait(&self.stream)
    }
}

struct CudaQueue {
    stream: Stream,
    device: Arc<CudaDevice>,
}

impl Queue for CudaQueue {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.device.enter()?;
        // SAFETY: the caller leaves the bytes alone until the stream was waited for.
        unsafe { bytes_at(address, bytes.len()).async_copy_from(bytes, &self.stream) }
            .map_err(driver_error("copying to the GPU"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.enter()?;
        // SAFETY: as for `write`.
        unsafe { bytes_at(address, bytes.len()).async_copy_to(bytes, &self.stream) }
            .map_err(driver_error("copying from the GPU"))
    }

    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError> {
        self.device.enter()?;
        // SAFETY: the stream orders this before its later launches and copies, and the bytes may be anything.
        unsafe { bytes_at(address, bytes).set_8_async(value, &self.stream) }
            .map_err(driver_error("filling memory of the GPU"))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.device.enter()?;
        self.device.wait(&self.stream)
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // The stream, which goes next, needs the context.
        let _ = self.device.enter();
    }
}

impl HostMemory for LockedBuffer<u8> {
    fn bytes(&mut self) -> &mut [u8] {
        self.as_mut_slice()
    }
}

impl Moment for Event {
    fn seconds_since(&self, start: &dyn Moment) -> Result<f64, DeviceError> {
        let start: &dyn Any = start;
        let Some(start) = start.downcast_ref::<Event>() else {
            return Err(DeviceError::ForeignEvent);
        };
        let milliseconds = self
            .synchronize()
            .and_then(|()| self.elapsed_time_f32(start));
        Ok(f64::from(milliseconds.map_err(driver_error("reading an event"))?) / 1e3)
    }
}

/// What the driver's compiler says about a text that it has refused. `cust` has no way to ask.
fn compiler_log(text: &CString) -> String {
    let mut log = vec![0_u8; 8192];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; the log's address and size are passed as the driver asks, and `log` outlives
    // the call.
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
        // SAFETY: the module was loaded just now and nobody else knows it.
        unsafe { cust_raw::cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

impl Program for CudaProgram {
    unsafe fn launch(
        &self,
        plan: &LaunchPlan,
        arguments: &[&[u8]],
        queue: Option<&dyn Queue>,
    ) -> Result<(), DeviceError> {
        self.device.enter()?;
        // `Module::launch` has checked that the queue is of this device.
        let queue = queue.and_then(|queue| {
            let queue: &dyn Any = queue;
            queue.downcast_ref::<CudaQueue>()
        });
        let stream = queue.map_or(&self.device.stream, |queue| &queue.stream);
        let unknown = || DeviceError::UnknownKernel {
            kernel: plan.kernel.clone(),
            origin: self.origin.clone(),
        };
        if plan.kernel.contains('\0') {
            return Err(unknown());
        }
        let function = self
            .module
            .get_function(&plan.kernel)
            .map_err(|error| match error {
                CudaError::NotFound => unknown(),
                error => driver_error(format!("finding kernel `{}`", plan.kernel))(error),
            })?;
        if plan.dynamic_shared_bytes > self.device.properties.shared_bytes_per_block {
            self.opt_in(&function, plan)?;
        }
        let pointers: Vec<_> = arguments
            .iter()
            .map(|bytes| bytes.as_ptr().cast_mut().cast::<c_void>())
            .collect();
        if let Some(listener) = &self.listener {
            listener.starts(stream, &plan.kernel);
        }
        // SAFETY: the caller promises fitting arguments; each pointer is valid for its bytes, which the driver copies
        // during the call.
        let result = unsafe {
            stream.launch(
                &function,
                <(u32, u32, u32)>::from(plan.grid),
                <(u32, u32, u32)>::from(plan.block),
                plan.dynamic_shared_bytes,
                &pointers,
            )
        };
        result.map_err(driver_error(format!("launching kernel `{}`", plan.kernel)))
    }
}

impl CudaProgram {
    /// Asks for more dynamic shared memory than a block gets unasked.
    fn opt_in(
        &self,
        function: &cust::function::Function<'_>,
        plan: &LaunchPlan,
    ) -> Result<(), DeviceError> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(plan.dynamic_shared_bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is alive as long as its module.
        let result = unsafe { cust_raw::cuFuncSetAttribute(function.to_raw(), attribute, bytes) };
        let doing = format!(
            "asking for {bytes} bytes of shared memory for kernel `{}`",
            plan.kernel
        );
        check(&doing, result)
    }
}

impl Drop for CudaProgram {
    fn drop(&mut self) {
        // Unloading the module, which follows, needs the context. A failure has nobody to be told to.
        let _ = self.device.enter();
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        let _ = self.enter();
    }
}
