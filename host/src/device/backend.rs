//! What differs between the devices.

use std::any::Any;
use std::sync::Arc;

use ptx_emulator::metrics::Profile;

use super::{DeviceError, DeviceProperties, LaunchPlan};

/// A kind of device. Addresses are the device's own; lengths are in bytes and never zero.
pub(super) trait Backend: Send + Sync {
    fn properties(&self) -> &DeviceProperties;

    fn alloc(&self, bytes: u64) -> Result<u64, DeviceError>;

    /// Gives back what [`alloc`](Self::alloc) returned. There is nobody to tell about an error.
    fn free(&self, address: u64);

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Sets `bytes` bytes to `value`.
    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError>;

    /// Copies within the device, in order with the launches.
    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), DeviceError>;

    /// Notes the moment when all that was started before has ended.
    fn record(&self) -> Result<Box<dyn Moment>, DeviceError>;

    /// Makes a queue of its own for work that overlaps with other queues'.
    fn queue(self: Arc<Self>) -> Result<Arc<dyn Queue>, DeviceError>;

    /// Takes memory of the host that a [`Queue`] can copy from and to by itself.
    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>, DeviceError>;

    fn load(self: Arc<Self>, ptx: &str, origin: &str) -> Result<Box<dyn Program>, DeviceError>;

    /// The bytes of stack that each thread of a kernel has.
    fn stack_bytes(&self) -> Result<usize, DeviceError>;

    fn set_stack_bytes(&self, bytes: usize) -> Result<(), DeviceError>;

    fn synchronize(&self) -> Result<(), DeviceError>;

    /// The profiles since the last call, where somebody makes them.
    fn take_profiles(&self) -> Vec<Profile> {
        Vec::new()
    }
}

/// A moment of a device's own clock.
pub(super) trait Moment: Any {
    /// Seconds from `start`, a moment of the same kind of device, to this one; waits until it has come.
    fn seconds_since(&self, start: &dyn Moment) -> Result<f64, DeviceError>;
}

/// Work in order, beside other queues. It keeps its device alive.
pub(super) trait Queue: Any + Send + Sync {
    /// Starts copying to the device.
    ///
    /// # Safety
    /// The bytes were pinned, and nobody changes or frees them before [`synchronize`](Self::synchronize) has returned.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Starts copying from the device.
    ///
    /// # Safety
    /// As for [`write`](Self::write); nobody reads them before either.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Starts setting `bytes` bytes to `value`.
    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError>;

    /// Waits for everything that was started.
    fn synchronize(&self) -> Result<(), DeviceError>;
}

/// Memory of the host, aligned for every [`Element`](super::Element).
pub(super) trait HostMemory: Send {
    fn bytes(&mut self) -> &mut [u8];
}

/// PTX that was loaded into a device. It keeps its device alive.
pub(super) trait Program: Send + Sync {
    /// Starts a kernel in a queue of the same device, or in the device's own. `arguments` holds the bytes of each
    /// parameter.
    ///
    /// # Safety
    /// As for [`Module::launch`](super::Module::launch).
    unsafe fn launch(
        &self,
        plan: &LaunchPlan,
        arguments: &[&[u8]],
        queue: Option<&dyn Queue>,
    ) -> Result<(), DeviceError>;
}
