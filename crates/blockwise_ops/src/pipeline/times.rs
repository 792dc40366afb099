//! How long a device takes.

use blockwise::Event;

use crate::LaunchError;

/// The device's time for chunks, in seconds. Overlapping work counts more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceTimes {
    /// Copies to and from the device.
    pub copying: f64,
    /// Running kernels.
    pub computing: f64,
}

impl DeviceTimes {
    /// Adds a chunk that has finished: its events are before and after its copies to the device,
    /// after its kernels, and after its copies back.
    pub(super) fn add(&mut self, chunk: &[Event; 4]) -> Result<(), LaunchError> {
        let [start, copied, computed, end] = chunk;
        self.copying += copied.seconds_since(start)? + end.seconds_since(computed)?;
        self.computing += computed.seconds_since(copied)?;
        Ok(())
    }
}
