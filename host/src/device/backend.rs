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

    fn load(self: Arc<Self>, ptx: &str, origin: &str) -> Result<Box<dyn Program>, DeviceError>;

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

/// PTX that was loaded into a device. It keeps its device alive.
pub(super) trait Program: Send + Sync {
    /// Starts a kernel. `arguments` holds the bytes of each parameter.
    ///
    /// # Safety
    /// As for [`Module::launch`](super::Module::launch).
    unsafe fn launch(&self, plan: &LaunchPlan, arguments: &[&[u8]]) -> Result<(), DeviceError>;
}
