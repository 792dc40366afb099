//! PTX that was loaded into a device, and its launches.

use std::sync::Arc;

use super::backend::{Backend, Program};
use super::{Arguments, DeviceError, Stream};

/// One launch as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    /// The kernel's name in the PTX.
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of the dynamic shared array.
    pub dynamic_shared_bytes: u32,
}

/// PTX that was loaded into a device. It keeps the device alive.
pub struct Module {
    backend: Arc<dyn Backend>,
    program: Box<dyn Program>,
}

impl Module {
    pub(super) fn load(
        backend: &Arc<dyn Backend>,
        text: &str,
        origin: &str,
    ) -> Result<Self, DeviceError> {
        let program = Arc::clone(backend).load(text, origin)?;
        Ok(Self {
            backend: Arc::clone(backend),
            program,
        })
    }

    /// Starts a kernel. On a GPU it may still run when this returns, and a fault may only show at
    /// [`Device::synchronize`](super::Device::synchronize). Dynamic shared memory above the usual limit is asked for.
    ///
    /// # Errors
    /// When there is no such kernel, an argument lives on another device, the device refuses the launch or, on the
    /// emulator, the kernel runs into a fault.
    ///
    /// # Safety
    /// The arguments must be what the kernel's parameters ask for, in number, order and type, and the kernel must keep
    /// within the buffers that it is given: on a GPU nothing checks this.
    pub unsafe fn launch(
        &self,
        plan: &LaunchPlan,
        arguments: &Arguments<'_>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.start(plan, arguments, None) }
    }

    /// As [`launch`](Self::launch), on a stream of the same device.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch), and a stream of another device.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch); other streams must leave alone what the kernel writes until this one was waited for.
    pub unsafe fn launch_on(
        &self,
        stream: &Stream,
        plan: &LaunchPlan,
        arguments: &Arguments<'_>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.start(plan, arguments, Some(stream)) }
    }

    unsafe fn start(
        &self,
        plan: &LaunchPlan,
        arguments: &Arguments<'_>,
        stream: Option<&Stream>,
    ) -> Result<(), DeviceError> {
        let stream_is_foreign = stream.is_some_and(|stream| {
            !std::ptr::addr_eq(Arc::as_ptr(stream.backend()), Arc::as_ptr(&self.backend))
        });
        if stream_is_foreign || !arguments.live_on(&self.backend) {
            return Err(DeviceError::ForeignBuffer {
                what: format!("kernel `{}`", plan.kernel),
            });
        }
        let queue = stream.map(Stream::queue);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.program.launch(plan, &arguments.bytes(), queue) }
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("device", &self.backend.properties().name)
            .finish_non_exhaustive()
    }
}
