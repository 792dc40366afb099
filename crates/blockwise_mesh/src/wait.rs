//! Waiting for a device.

use std::time::Duration;

use blockwise::{Device, Result};

/// How long a wait polls before it sleeps. The interrupt that ends a sleep takes 0.3 ms on a host
/// with two H200.
pub(crate) const ATTENTIVE: Duration = Duration::from_millis(20);

/// Waits for all work of a device.
pub(crate) fn attentively(device: &Device) -> Result<()> {
    device.synchronize_polling(ATTENTIVE)
}
