//! What differs between the devices.

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

    fn load(self: Arc<Self>, ptx: &str, origin: &str) -> Result<Box<dyn Program>, DeviceError>;

    fn synchronize(&self) -> Result<(), DeviceError>;

    /// The profiles since the last call, where somebody makes them.
    fn take_profiles(&self) -> Vec<Profile> {
        Vec::new()
    }
}

/// PTX that was loaded into a device. It keeps its device alive.
pub(super) trait Program: Send + Sync {
    /// Starts a kernel. `arguments` holds the bytes of each parameter.
    ///
    /// # Safety
    /// As for [`Module::launch`](super::Module::launch).
    unsafe fn launch(&self, plan: &LaunchPlan, arguments: &[&[u8]]) -> Result<(), DeviceError>;
}
