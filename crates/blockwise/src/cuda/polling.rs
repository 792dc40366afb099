//! Polling of the driver. After a while, the thread sleeps between polls.

use std::time::{Duration, Instant};

use cust::error::CudaResult;
use cust::event::{Event, EventStatus};

use crate::backend::ATTENTIVE;

/// The longest sleep between two polls.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Waits for an event that causes no interrupt.
pub(super) fn sleep_until(event: &Event) -> CudaResult<()> {
    let mut pause = Pause::new(ATTENTIVE);
    while event.query()? == EventStatus::NotReady {
        pause.take();
    }
    Ok(())
}

/// Pauses between polls: none at first, then increasingly long sleeps, where the driver cannot wait.
pub(super) struct Pause {
    start: Instant,
    /// How long to poll without a sleep.
    polling: Duration,
    next: Duration,
}

impl Pause {
    pub(super) fn new(polling: Duration) -> Self {
        Self {
            start: Instant::now(),
            polling,
            next: Duration::from_micros(10),
        }
    }

    /// Whether the next pause is a sleep.
    pub(super) fn is_long(&self) -> bool {
        self.start.elapsed() > self.polling
    }

    pub(super) fn take(&mut self) {
        if self.is_long() {
            std::thread::sleep(self.next);
            self.next = (self.next * 2).min(LONGEST_SLEEP);
        } else {
            // Returns at once if no other thread waits for the core.
            std::thread::yield_now();
        }
    }
}
