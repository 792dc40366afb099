//! PTX compiled by the driver, and its kernels.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cust::context::CurrentContext;
use cust::error::CudaError;
use cust_raw::{CUfunction, CUfunction_attribute};
use launch_contract::launch::{Argument, Shape};
use libcuda_loader::launch_ex::{self, Config};

use super::context::CudaContext;
use super::panics::Listener;
use super::{answer, driver_error, queue};
use crate::backend::{Callable, Program, Queue};
use crate::{Error, Result};

/// Up to this many arguments, a launch keeps their pointers on the stack.
const FEW_ARGUMENTS: usize = 32;

#[derive(Clone)]
pub(super) struct CudaProgram(Arc<Loaded>);

/// Fields are dropped in this order: the module before its context.
struct Loaded {
    module: Arc<cust::module::Module>,
    listener: Option<Arc<Listener>>,
    origin: String,
    context: Arc<CudaContext>,
}

impl CudaProgram {
    pub(super) fn new(
        module: Arc<cust::module::Module>,
        listener: Option<Arc<Listener>>,
        origin: String,
        context: Arc<CudaContext>,
    ) -> Self {
        Self(Arc::new(Loaded {
            module,
            listener,
            origin,
            context,
        }))
    }
}

impl Program for CudaProgram {
    fn function(&self, name: &str, starts_early: bool) -> Result<Arc<dyn Callable>> {
        let Loaded {
            module,
            origin,
            context,
            ..
        } = &*self.0;
        context.enter()?;
        let unknown = || Error::UnknownKernel {
            kernel: name.to_owned(),
            origin: origin.clone(),
        };
        if name.contains('\0') {
            return Err(unknown());
        }
        let function = module.get_function(name).map_err(|error| match error {
            CudaError::NotFound => unknown(),
            error => driver_error(context, format!("finding kernel `{name}`"))(error),
        })?;
        Ok(Arc::new(CudaFunction {
            function: function.to_raw(),
            name: name.into(),
            shared_bytes: AtomicU32::new(context.properties.shared_bytes_per_block),
            starts_early: starts_early && launch_ex::is_known(),
            program: self.clone(),
        }))
    }
}

pub(super) struct CudaFunction {
    function: CUfunction,
    pub(super) name: Arc<str>,
    /// The dynamic shared memory that a launch may use: the most that was requested so far.
    shared_bytes: AtomicU32,
    /// Whether its launches may start before the kernel before them has ended.
    starts_early: bool,
    program: CudaProgram,
}

// SAFETY: the driver's functions may be used from any thread; the program keeps the handle valid.
unsafe impl Send for CudaFunction {}
// SAFETY: as above.
unsafe impl Sync for CudaFunction {}

impl CudaFunction {
    /// The driver's handle, ready for a launch of this shape.
    pub(super) fn ready(&self, shape: Shape) -> Result<CUfunction> {
        let Loaded { context, .. } = &*self.program.0;
        context.enter()?;
        if shape.shared_bytes > self.shared_bytes.load(Ordering::Relaxed) {
            self.opt_in(shape.shared_bytes)?;
        }
        Ok(self.function)
    }

    pub(super) fn listener(&self) -> Option<&Arc<Listener>> {
        self.program.0.listener.as_ref()
    }

    /// Requests more dynamic shared memory than a block has by default.
    fn opt_in(&self, bytes: u32) -> Result<()> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let requested = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is alive as long as its module.
        let result = unsafe { cust_raw::cuFuncSetAttribute(self.function, attribute, requested) };
        let name = &self.name;
        answer(result).map_err(driver_error(
            &self.program.0.context,
            format!("asking for {bytes} bytes of shared memory for kernel `{name}`"),
        ))?;
        self.shared_bytes.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Callable for CudaFunction {
    unsafe fn launch(
        &self,
        queue: &dyn Queue,
        shape: Shape,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let function = self.ready(shape)?;
        let stream = &queue::of(queue)?.stream;
        if let Some(listener) = self.listener() {
            listener.starts(stream, &self.name);
        }
        let mut few = [std::ptr::null_mut::<c_void>(); FEW_ARGUMENTS];
        let mut many = Vec::new();
        let pointers = match few.get_mut(..arguments.len()) {
            Some(few) => few,
            None => {
                many.resize(arguments.len(), std::ptr::null_mut());
                &mut many[..]
            }
        };
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = argument.as_ptr().cast_mut().cast();
        }
        let Shape {
            grid,
            block,
            shared_bytes,
        } = shape;
        // SAFETY: the caller promises matching arguments; each pointer is valid for its bytes,
        // which the driver copies during the call; function and stream are of the current context.
        // A kernel that starts early waits for the one before it.
        let result = unsafe {
            if self.starts_early {
                let config = Config {
                    grid: [grid.x, grid.y, grid.z],
                    block: [block.x, block.y, block.z],
                    shared_bytes,
                    stream: stream.as_inner(),
                };
                launch_ex::launch_early(function, config, pointers.as_mut_ptr())
            } else {
                cust_raw::cuLaunchKernel(
                    function,
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    stream.as_inner(),
                    pointers.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            }
        };
        answer(result).map_err(|error| {
            let doing = format!("launching kernel `{}`", self.name);
            driver_error(&self.program.0.context, doing)(error)
        })
    }

    fn suggested_block(&self, shared_bytes: u32) -> Result<u32> {
        self.program.0.context.enter()?;
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: the places for the answers are valid, and the function is alive.
        let result = unsafe {
            cust_raw::cuOccupancyMaxPotentialBlockSize(
                &mut blocks,
                &mut threads,
                self.function,
                None,
                shared_bytes as usize,
                0,
            )
        };
        answer(result).map_err(|error| {
            let doing = format!("asking for a block size for kernel `{}`", self.name);
            driver_error(&self.program.0.context, doing)(error)
        })?;
        Ok(threads.unsigned_abs())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // The module is unloaded next, which needs the context. CUDA's documentation does not say
        // that unloading waits for the module's kernels, which run its code and report panics to
        // the listener's memory. Errors are dropped.
        if self.context.enter().is_ok() {
            let _ = CurrentContext::synchronize();
        }
    }
}
