//! Where the tests run.

use std::io::Write;
use std::sync::LazyLock;

use blockwise::{Device, Result};

/// The GPU, or nothing, said once.
static GPU: LazyLock<Option<Device>> = LazyLock::new(|| match Device::gpu(0) {
    Ok(gpu) => Some(gpu),
    Err(error) => {
        // Not `eprintln!`: the test harness keeps what that writes, and a skip is to be seen.
        let _ = writeln!(std::io::stderr(), "skipped on the GPU: {error}");
        None
    }
});

/// Runs a test on the emulator under all detectors, and on the GPU where there is one.
pub(crate) fn on_every_device(test: impl Fn(&Device) -> Result<()>) -> Result<()> {
    test(&Device::checked())?;
    GPU.as_ref().map_or(Ok(()), test)
}
