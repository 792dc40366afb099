//! Allocated device memory, and the ordering of its uses.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Result;
use crate::backend::{Backend, Queue};

/// Shared by the buffers, functions and streams of one device.
pub(crate) struct Core {
    pub(crate) backend: Arc<dyn Backend>,
    /// The device's own queue.
    pub(crate) queue: Arc<dyn Queue>,
    /// Held while work is ordered after other queues' and enqueued, so that no thread enqueues work
    /// in between that the ordering would miss.
    pub(crate) enqueueing: Mutex<()>,
}

impl Core {
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Enqueues work that uses memory: orders it after other queues' uses of that memory, then
    /// starts it.
    pub(crate) fn enqueue<'m>(
        &self,
        queue: &Arc<dyn Queue>,
        uses: impl Iterator<Item = (&'m Allocation, bool)>,
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        let _enqueueing = (self.enqueueing.lock()).unwrap_or_else(PoisonError::into_inner);
        for (memory, written) in uses {
            memory.order(queue, written)?;
        }
        start(&**queue)
    }
}

/// Device memory, freed when the last owner drops it.
pub(crate) struct Allocation {
    pub(crate) core: Arc<Core>,
    pub(crate) address: u64,
    /// 0 for an empty buffer, which has an address but no memory.
    pub(crate) bytes: usize,
    uses: Mutex<Uses>,
}

/// The queues that have used the memory since it was last known to be idle.
#[derive(Default)]
struct Uses {
    /// The last queue that wrote.
    writer: Option<Arc<dyn Queue>>,
    /// The queues that have read since.
    readers: Vec<Arc<dyn Queue>>,
}

impl Allocation {
    /// # Safety
    /// The address is from the backend's `alloc` for that many bytes, or there are none.
    pub(crate) unsafe fn new(core: Arc<Core>, address: u64, bytes: usize) -> Self {
        Self {
            core,
            address,
            bytes,
            uses: Mutex::default(),
        }
    }

    /// Makes later work of `queue` wait for conflicting uses of other queues: a reader for the last
    /// writer, a writer for all readers and writers.
    ///
    /// An event at the end of the other queue stands for its use of this memory; it may be later
    /// than the use, never earlier. So a program with one stream records no events.
    fn order(&self, queue: &Arc<dyn Queue>, written: bool) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let others = |other: &&Arc<dyn Queue>| !is_same(other, queue);
        if let Some(writer) = uses.writer.as_ref().filter(others) {
            queue.wait_for(&**writer)?;
        }
        if written {
            for reader in uses.readers.iter().filter(others) {
                queue.wait_for(&**reader)?;
            }
            uses.readers.clear();
            if !uses.writer.as_ref().is_some_and(|w| is_same(w, queue)) {
                uses.writer = Some(Arc::clone(queue));
            }
        } else if !uses.readers.iter().any(|reader| is_same(reader, queue)) {
            uses.readers.push(Arc::clone(queue));
        }
        Ok(())
    }
}

/// Compares addresses only: one type may have several vtables.
fn is_same(a: &Arc<dyn Queue>, b: &Arc<dyn Queue>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the address is from `alloc`, and this is its only owner.
            unsafe { self.core.backend.free(self.address) };
        }
    }
}
