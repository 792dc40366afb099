//! Allocated device memory, and the ordering of its uses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::backend::{Backend, Queue};
use crate::permutation::check::Check;
use crate::{Error, Result, Room};

/// Shared by the buffers, functions and streams of one device.
pub(crate) struct Core {
    pub(crate) backend: Arc<dyn Backend>,
    /// The device's own queue.
    pub(crate) queue: Arc<dyn Queue>,
    /// Held while work is ordered after other queues' and enqueued, so that no thread enqueues work
    /// in between that the ordering would miss.
    pub(crate) enqueueing: Mutex<()>,
    /// The kernels that check a permutation, once one was.
    pub(crate) check: OnceLock<Check>,
    /// Why memory is undefined.
    pub(crate) spoiled: OnceLock<String>,
    pub(crate) budget: Budget,
}

/// The bytes that buffers of a device may have together.
pub(crate) struct Budget {
    limit: AtomicU64,
    used: AtomicU64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            limit: AtomicU64::new(u64::MAX),
            used: AtomicU64::new(0),
        }
    }
}

impl Budget {
    pub(crate) fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Counts memory that is about to be allocated, or says how much there is.
    fn take(&self, bytes: u64) -> std::result::Result<(), Room> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        let taken = (self.used).fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map(drop).map_err(|used| Room {
            free: limit.saturating_sub(used),
            total: limit,
            own: used,
        })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Core {
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Allocates memory, within the limit that was set.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<u64> {
        self.budget.take(bytes).map_err(|room| Error::OutOfMemory {
            device: self.backend.properties().name.clone(),
            bytes,
            room: Some(room),
        })?;
        let allocated = self.backend.alloc(bytes);
        if allocated.is_err() {
            self.budget.give_back(bytes);
        }
        allocated
    }

    /// Fails once memory is undefined.
    pub(crate) fn check(&self) -> Result<()> {
        match self.spoiled.get() {
            Some(cause) => Err(Error::Spoiled {
                cause: cause.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Enqueues work that uses memory: orders it after other queues' uses of that memory, then
    /// starts it.
    pub(crate) fn enqueue<'m>(
        &self,
        queue: &Arc<dyn Queue>,
        uses: impl Iterator<Item = (&'m Allocation, bool)>,
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        self.check()?;
        let _enqueueing = (self.enqueueing.lock()).unwrap_or_else(PoisonError::into_inner);
        let mut earlier = Vec::new();
        for (memory, written) in uses {
            memory.note(queue, written, &mut earlier);
        }
        // One event stands for all uses by a queue.
        for (index, other) in earlier.iter().enumerate() {
            if !earlier[..index].iter().any(|known| is_same(known, other)) {
                queue.wait_for(&**other)?;
            }
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
    /// Whether another library frees it.
    pub(crate) is_foreign: bool,
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
    /// There are that many bytes at the address, or none. They are from [`Core::alloc`], unless they
    /// are foreign: then they outlive this value and the work that uses it.
    pub(crate) unsafe fn new(
        core: Arc<Core>,
        address: u64,
        bytes: usize,
        is_foreign: bool,
    ) -> Self {
        Self {
            core,
            address,
            bytes,
            is_foreign,
            uses: Mutex::default(),
        }
    }

    /// Notes a use by `queue`, and adds the queues that it must wait for: a reader for the last
    /// writer, a writer for all readers and writers.
    ///
    /// An event at the end of the other queue stands for its use of this memory; it may be later
    /// than the use, never earlier. So a program with one stream records no events.
    fn note(&self, queue: &Arc<dyn Queue>, written: bool, earlier: &mut Vec<Arc<dyn Queue>>) {
        if self.bytes == 0 {
            return;
        }
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let others = |other: &&Arc<dyn Queue>| !is_same(other, queue);
        earlier.extend(uses.writer.as_ref().filter(others).cloned());
        if written {
            earlier.extend(uses.readers.iter().filter(others).cloned());
            uses.readers.clear();
            if !uses.writer.as_ref().is_some_and(|w| is_same(w, queue)) {
                uses.writer = Some(Arc::clone(queue));
            }
        } else if !uses.readers.iter().any(|reader| is_same(reader, queue)) {
            uses.readers.push(Arc::clone(queue));
        }
    }
}

/// Compares addresses only: one type may have several vtables.
fn is_same(a: &Arc<dyn Queue>, b: &Arc<dyn Queue>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes > 0 && !self.is_foreign {
            // SAFETY: the address is from `alloc`, and this is its only owner.
            unsafe { self.core.backend.free(self.address) };
            self.core.budget.give_back(self.bytes as u64);
        }
    }
}
