//! The time of a call on a GPU, by the device's clock.

use blockwise::{Device, DeviceKind};
use blockwise_ops::LaunchError;
use blockwise_ops::operation::Work;

use super::DemoError;
use super::row::Row;
use super::speed::{Speed, Unit};

/// Calls that are timed together.
const CALLS: u32 = 20;

/// On a GPU the row with the mean time of calls in a row, and their speed; on the emulator, whose time
/// says nothing about a GPU's, the row as it is. The output is written again.
pub(super) fn timed(
    row: Row,
    device: &Device,
    work: Work,
    unit: Unit,
    mut enqueue: impl FnMut() -> Result<(), LaunchError>,
) -> Result<Row, DemoError> {
    if device.properties().kind == DeviceKind::Emulator {
        return Ok(row);
    }
    // The first call may load code.
    enqueue()?;
    let start = device.record()?;
    for _ in 0..CALLS {
        enqueue()?;
    }
    let end = device.record()?;
    device.synchronize()?;
    let seconds = end.seconds_since(&start)? / f64::from(CALLS);
    Ok(Row {
        seconds,
        speed: Speed::of(work, unit, seconds),
        ..row
    })
}

/// What the column is, for the reader.
pub(super) fn remark() -> String {
    format!(
        "launch and speed: {CALLS} calls in a row, by the device's clock; small arrays stay in the L2 cache"
    )
}
