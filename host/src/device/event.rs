//! Moments of a device's own clock.

use std::sync::Arc;

use super::DeviceError;
use super::backend::{Backend, Moment};

/// The moment when all that was started on a device before has ended. [`Device::record`](super::Device::record) makes one.
pub struct Event {
    moment: Box<dyn Moment>,
    // After the event, which it keeps alive.
    _backend: Arc<dyn Backend>,
}

impl Event {
    pub(super) fn record(backend: &Arc<dyn Backend>) -> Result<Self, DeviceError> {
        Ok(Self {
            moment: backend.record()?,
            _backend: Arc::clone(backend),
        })
    }

    /// Seconds from `start` to this event. Waits until this one has come.
    ///
    /// # Errors
    /// When the events come from different kinds of device, and what went wrong before this one.
    pub fn seconds_since(&self, start: &Event) -> Result<f64, DeviceError> {
        self.moment.seconds_since(&*start.moment)
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}
