//! The devices on which tests run.

use std::io::Write;
use std::sync::LazyLock;

use blockwise::{Device, Result};

/// The GPU, or nothing; the reason is printed once.
static GPU: LazyLock<Option<Device>> = LazyLock::new(|| match Device::gpu(0) {
    Ok(gpu) => Some(gpu),
    Err(error) => {
        // Not `eprintln!`: the test harness captures that, and a skip must be visible.
        let _ = writeln!(std::io::stderr(), "skipped on the GPU: {error}");
        None
    }
});

/// Runs a test on the emulator under all detectors, and on the GPU if there is one.
pub(crate) fn on_every_device(test: impl Fn(&Device) -> Result<()>) -> Result<()> {
    test(&Device::checked())?;
    GPU.as_ref().map_or(Ok(()), test)
}
