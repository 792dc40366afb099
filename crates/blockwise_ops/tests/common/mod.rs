//! Where the tests run.

use blockwise::Device;

/// The emulator, which checks every launch, and the first GPU where there is one and the feature
/// `cuda`.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = vec![Device::checked()];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => println!("not run on a GPU: {error}"),
    }
    devices
}
