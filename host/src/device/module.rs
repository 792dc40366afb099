//! PTX that was loaded into a device, and its launches.

use std::sync::Arc;

use super::backend::{Backend, Program};
use super::{Arguments, DeviceError};

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
        if !arguments.live_on(&self.backend) {
            return Err(DeviceError::ForeignBuffer {
                what: format!("kernel `{}`", plan.kernel),
            });
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { self.program.launch(plan, &arguments.bytes()) }
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("device", &self.backend.properties().name)
            .finish_non_exhaustive()
    }
}
