//! Timestamps of a device's clock.

use std::fmt;
use std::sync::Arc;

use crate::Result;
use crate::backend::{Queue, Timestamp};
use crate::memory::Core;

/// The time at which all earlier work of a queue has finished, from
/// [`Device::record`](crate::Device::record) or [`Stream::record`](crate::Stream::record).
#[must_use = "an event is compared with another one"]
pub struct Event {
    timestamp: Box<dyn Timestamp>,
    // Declared after the timestamp, which it keeps alive.
    _core: Arc<Core>,
}

impl Event {
    pub(crate) fn record(queue: &Arc<dyn Queue>, core: &Arc<Core>) -> Result<Self> {
        Ok(Self {
            timestamp: queue.record()?,
            _core: Arc::clone(core),
        })
    }

    /// Seconds from `start` to this event. Waits until both have passed.
    ///
    /// # Errors
    /// If the events are from different kinds of device, and errors of the work before this one.
    pub fn seconds_since(&self, start: &Event) -> Result<f64> {
        self.timestamp.seconds_since(&*start.timestamp)
    }

    /// Whether the work before this event has finished. Does not wait.
    ///
    /// # Errors
    /// Errors of that work.
    pub fn has_passed(&self) -> Result<bool> {
        self.timestamp.has_passed()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}
