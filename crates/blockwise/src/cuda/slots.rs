//! Page-locked memory for small copies.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use cust::error::CudaResult;
use cust::event::Event;
use cust::memory::LockedBuffer;
use cust::stream::Stream;

use crate::busy;

/// The slots that no call holds. Copies in flight may still use them.
#[derive(Default)]
pub(super) struct Staging(Mutex<VecDeque<Slot>>);

/// Page-locked memory for one copy.
pub(super) struct Slot {
    pub(super) memory: LockedBuffer<u8>,
    /// The end of its last copy.
    pub(super) end: Event,
    /// Whether the end was waited for: the driver need not be asked.
    pub(super) has_ended: bool,
}

impl Slot {
    /// Records the end of a copy that was started. If that fails, the memory is never freed: the
    /// copy may still use it.
    pub(super) fn started(mut self, stream: &Stream) -> CudaResult<Self> {
        self.has_ended = false;
        match self.end.record(stream) {
            Ok(()) => Ok(self),
            Err(error) => {
                std::mem::forget(self);
                Err(error)
            }
        }
    }
}

impl Staging {
    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<Slot>> {
        busy::lock(&self.0)
    }
}
