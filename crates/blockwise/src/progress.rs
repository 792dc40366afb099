//! The progress of a queue.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers a queue's work, and remembers what has ended: nothing waits for that any more.
#[derive(Default)]
pub(crate) struct Progress {
    enqueued: AtomicU64,
    ended: AtomicU64,
}

impl Progress {
    /// Numbers work that was enqueued. Numbered before, it would count as ended after a wait that
    /// began before it was in the queue.
    pub(crate) fn number(&self) -> u64 {
        self.enqueued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The latest work's number.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn latest(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// Notes that the work up to this number has ended.
    pub(crate) fn end(&self, number: u64) {
        self.ended.fetch_max(number, Ordering::AcqRel);
    }

    pub(crate) fn has_ended(&self, number: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= number
    }
}
