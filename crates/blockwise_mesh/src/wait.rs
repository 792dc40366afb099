//! Waiting for a device.

use std::time::{Duration, Instant};

use blockwise::{Device, Result};

/// How long a wait polls before it sleeps.
const ATTENTIVE: Duration = Duration::from_millis(20);

/// Waits for all work of a device. The interrupt that ends a sleep takes 0.3 ms on a host with two
/// H200, so the thread polls first.
pub(crate) fn attentively(device: &Device) -> Result<()> {
    let (begin, end) = (Instant::now(), device.record()?);
    while begin.elapsed() < ATTENTIVE && !end.has_passed()? {
        std::hint::spin_loop();
    }
    device.synchronize()
}
