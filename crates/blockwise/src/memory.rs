//! Allocated device memory, and the ordering of its uses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::backend::{Arrival, Backend, Queue, STAGED};
use crate::busy::lock;
use crate::permutation::check::Check;
use crate::unused::{Block, KEPT, NOWHERE, Unused};
use crate::uses::{Use, Uses, is_same};
use crate::{Error, Result, Room};

/// Shared by the buffers, functions and streams of one device.
pub(crate) struct Core {
    pub(crate) backend: Arc<dyn Backend>,
    /// The device's own queue.
    pub(crate) queue: Arc<dyn Queue>,
    /// Held while work is ordered after other queues' and enqueued, so that no thread enqueues work
    /// in between that the ordering would miss.
    enqueueing: Mutex<()>,
    /// The kernels that check a permutation, once one was.
    pub(crate) check: OnceLock<Check>,
    /// Why memory is undefined.
    pub(crate) spoiled: OnceLock<String>,
    pub(crate) budget: Budget,
    unused: Mutex<Unused>,
}

/// The most bytes of all buffers of a device, and the bytes that they have.
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

    /// Counts memory that is about to be allocated; an error, with the memory's use, beyond the
    /// limit.
    fn take(&self, bytes: u64) -> std::result::Result<(), Room> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit);
        let taken = (self.used).try_update(Ordering::Relaxed, Ordering::Relaxed, fits);
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
    pub(crate) fn new(backend: Arc<dyn Backend>, queue: Arc<dyn Queue>) -> Self {
        Self {
            backend,
            queue,
            enqueueing: Mutex::default(),
            check: OnceLock::new(),
            spoiled: OnceLock::new(),
            budget: Budget::default(),
            unused: Mutex::default(),
        }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Memory within the limit that was set, unused or new.
    fn alloc(&self, bytes: u64) -> Result<Block> {
        self.budget.take(bytes).map_err(|room| Error::OutOfMemory {
            device: self.backend.properties().name.clone(),
            bytes,
            room: Some(room),
        })?;
        let unused = lock(&self.unused).take(bytes);
        let block = unused.map_or_else(|| self.with_room(|| self.new_block(bytes)), Ok);
        if block.is_err() {
            self.budget.give_back(bytes);
        }
        block
    }

    fn new_block(&self, bytes: u64) -> Result<Block> {
        Ok(Block {
            address: self.backend.alloc(bytes)?,
            bytes,
            uses: Uses::default(),
        })
    }

    /// Calls what needs device memory. If there is too little, frees all unused memory and calls it
    /// again.
    pub(crate) fn with_room<T>(&self, call: impl Fn() -> Result<T>) -> Result<T> {
        let done = call();
        match &done {
            Err(error) if error.is_out_of_memory() && self.release(0) => call(),
            _ => done,
        }
    }

    /// Keeps a block for later buffers, up to an eighth of the device's memory in all: drivers,
    /// libraries and other processes need some too, and the host may never wait again.
    fn give(&self, mut block: Block) {
        if self.backend.keeps_memory() {
            block.uses.forget_ended();
            lock(&self.unused).give(block);
            self.release((self.backend.properties().memory_bytes / 8).max(KEPT));
        } else {
            block.uses.settle_peers();
            // SAFETY: the address is from `alloc`, and nothing else has it.
            unsafe { self.backend.free(block.address) };
        }
    }

    /// Frees unused memory above `kept` bytes. Whether there was any.
    fn release(&self, kept: u64) -> bool {
        let excess = lock(&self.unused).excess(kept);
        for block in &excess {
            block.uses.settle_peers();
            // SAFETY: as above.
            unsafe { self.backend.free(block.address) };
        }
        !excess.is_empty()
    }

    /// Ends a wait on the host: frees what is not worth keeping, and fails once memory is
    /// undefined.
    pub(crate) fn waited(&self) -> Result<()> {
        self.release(KEPT);
        self.check()
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
        uses: impl Iterator<Item = (&'m Allocation, bool)> + Clone,
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        self.enqueue_numbered(queue, uses, start).map(drop)
    }

    /// The same; returns the work's number in the queue.
    fn enqueue_numbered<'m>(
        &self,
        queue: &Arc<dyn Queue>,
        uses: impl Iterator<Item = (&'m Allocation, bool)> + Clone,
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<u64> {
        self.check()?;
        let _enqueueing = lock(&self.enqueueing);
        self.enqueue_ordered(queue, uses, start)
    }

    /// Enqueues copies to memory of this device from that of others, which may be this one too, in
    /// a queue of this device.
    pub(crate) fn enqueue_from(
        &self,
        queue: &Arc<dyn Queue>,
        to: &Allocation,
        from: &[&Allocation],
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        let reads = from.iter().map(|&from| (from, false));
        let uses = std::iter::once((to, true)).chain(reads);
        let sources = from.iter().map(|from| &*from.core);
        let mut cores: Vec<&Self> = std::iter::once(self).chain(sources).collect();
        // All devices' locks, in the same order in every thread.
        cores.sort_by_key(|core| std::ptr::from_ref::<Self>(core).addr());
        cores.dedup_by(|one, other| one.is(other));
        cores.iter().try_for_each(|core| core.check())?;
        let _enqueueing: Vec<_> = cores.iter().map(|core| lock(&core.enqueueing)).collect();
        self.enqueue_ordered(queue, uses, start).map(drop)
    }

    /// The same for copies a part of which `start` enqueues in a second queue of this device, to
    /// run beside the others. That part begins after what is in the first queue by then, and later
    /// work of the first one waits for it, so that its uses are the first queue's.
    pub(crate) fn enqueue_beside(
        &self,
        [queue, beside]: [&Arc<dyn Queue>; 2],
        to: &Allocation,
        from: &[&Allocation],
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        self.enqueue_from(queue, to, from, |queue| {
            beside.wait_for(queue)?;
            let started = start(queue);
            // Also after a failure, which may have left copies in the second queue.
            let joined = queue.wait_for(&**beside);
            if joined.is_err() {
                // A device that cannot wait has failed, and then runs nothing.
                let _ = beside.settle();
            }
            started.and(joined)
        })
    }

    /// The same with the locks that it needs.
    fn enqueue_ordered<'m>(
        &self,
        queue: &Arc<dyn Queue>,
        uses: impl Iterator<Item = (&'m Allocation, bool)> + Clone,
        start: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<u64> {
        let mut earlier = Vec::new();
        for (memory, written) in uses.clone() {
            memory.earlier(queue, written, &mut earlier);
        }
        // One event stands for all uses by a queue.
        for (index, other) in earlier.iter().enumerate() {
            if !earlier[..index].iter().any(|known| is_same(known, other)) {
                queue.wait_for(&**other)?;
            }
        }
        let started = start(&**queue);
        // Noted after the waits, which later uses by this queue rely on, and also if only a part
        // was started.
        let number = queue.progress().number();
        for (memory, written) in uses {
            memory.note(queue, number, written, !memory.core.is(self));
        }
        started.map(|()| number)
    }

    /// Copies to memory, after all its earlier uses.
    ///
    /// # Safety
    /// The memory has these bytes at the address.
    pub(crate) unsafe fn write(
        &self,
        memory: &Allocation,
        address: u64,
        bytes: &[u8],
    ) -> Result<()> {
        if memory.is_foreign {
            self.check()?;
            // SAFETY: the caller's promise.
            return unsafe { self.backend.write(address, bytes) };
        }
        let queue = memory.home();
        let uses = [(memory, true)].into_iter();
        if bytes.len() > STAGED {
            // The lock is held during a long copy, but not while kernels run before it.
            self.enqueue(&queue, uses.clone(), |_| Ok(()))?;
            queue.settle()?;
        }
        // SAFETY: the caller's promise.
        self.enqueue(&queue, uses, |queue| unsafe {
            queue.upload(address, bytes)
        })
    }

    /// Copies from memory, after all its earlier writes, and waits.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    pub(crate) unsafe fn read(
        &self,
        memory: &Allocation,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        if memory.is_foreign {
            // SAFETY: the caller's promise.
            unsafe { self.backend.read(address, bytes) }?;
            return self.waited();
        }
        let queue = memory.home();
        let uses = [(memory, false)].into_iter();
        if bytes.len() > STAGED {
            self.enqueue(&queue, uses.clone(), |_| Ok(()))?;
            queue.synchronize()?;
        }
        // SAFETY: the caller's promise.
        self.fetch(&queue, uses, bytes, |queue, bytes| unsafe {
            queue.download(address, bytes)
        })
    }

    /// Enqueues what brings bytes to the host, and waits.
    pub(crate) fn fetch<'m>(
        &self,
        queue: &Arc<dyn Queue>,
        uses: impl Iterator<Item = (&'m Allocation, bool)> + Clone,
        bytes: &mut [u8],
        start: impl FnOnce(&dyn Queue, &mut [u8]) -> Result<Option<Box<dyn Arrival>>>,
    ) -> Result<()> {
        let mut arrival = None;
        let number = self.enqueue_numbered(queue, uses, |queue| {
            arrival = start(queue, bytes)?;
            Ok(())
        })?;
        if let Some(arrival) = arrival {
            arrival.wait(bytes)?;
        }
        queue.progress().end(number);
        // Work in flight may have failed during the wait.
        self.waited()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let check = self.check.take();
        if let Some(block) = check.and_then(Check::into_memory) {
            self.give(block);
        }
        self.release(0);
    }
}

/// Device memory. When the last owner drops it, it serves later buffers.
pub(crate) struct Allocation {
    pub(crate) core: Arc<Core>,
    pub(crate) address: u64,
    /// 0 for an empty buffer, which has an address but no memory.
    pub(crate) bytes: usize,
    /// The bytes that are there.
    capacity: u64,
    /// Whether another library frees it.
    pub(crate) is_foreign: bool,
    uses: Mutex<Uses>,
}

impl Allocation {
    /// Unwritten memory. The first use that touches it is a write, which waits for all uses by the
    /// memory's earlier owners.
    pub(crate) fn of(core: &Arc<Core>, bytes: usize) -> Result<Self> {
        let block = match bytes {
            0 => Block::nothing(NOWHERE),
            bytes => core.alloc(bytes as u64)?,
        };
        Ok(Self {
            core: Arc::clone(core),
            address: block.address,
            bytes,
            capacity: block.bytes,
            is_foreign: false,
            uses: Mutex::new(block.uses),
        })
    }

    /// Memory that another library frees.
    ///
    /// # Safety
    /// There are that many bytes at the address, which outlive this value and the work that uses
    /// it.
    pub(crate) unsafe fn foreign(core: &Arc<Core>, address: u64, bytes: usize) -> Self {
        Self {
            core: Arc::clone(core),
            address,
            bytes,
            capacity: bytes as u64,
            is_foreign: true,
            uses: Mutex::default(),
        }
    }

    /// A block that [`into_block`](Self::into_block) has made of memory of this device, and of as
    /// many bytes.
    pub(crate) fn of_block(core: &Arc<Core>, block: Block, bytes: usize) -> Self {
        Self {
            core: Arc::clone(core),
            address: block.address,
            bytes,
            capacity: block.bytes,
            is_foreign: false,
            uses: Mutex::new(block.uses),
        }
    }

    /// The memory without its device, for what the device itself keeps: [`Core`] frees it. It still
    /// counts as used.
    pub(crate) fn into_block(mut self) -> Block {
        self.bytes = 0;
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        Block {
            address: self.address,
            bytes: self.capacity,
            uses: std::mem::take(uses),
        }
    }

    /// The queue for a copy: that of the last writer, for which others would have to wait.
    fn home(&self) -> Arc<dyn Queue> {
        let uses = lock(&self.uses);
        let writer = uses.writer.as_ref().map(|writer| &writer.queue);
        Arc::clone(writer.unwrap_or(&self.core.queue))
    }

    /// Adds the queues that a use by `queue` must wait for: a reader for the last writer, a writer
    /// for all readers and writers.
    ///
    /// An event at the end of the other queue stands for its use of this memory; it may be later
    /// than the use, never earlier. So a program with one stream records no events.
    fn earlier(&self, queue: &Arc<dyn Queue>, written: bool, earlier: &mut Vec<Arc<dyn Queue>>) {
        if self.bytes == 0 {
            return;
        }
        let uses = lock(&self.uses);
        let readers = uses.readers.iter();
        if !written && readers.clone().any(|reader| reader.is_of(queue)) {
            return;
        }
        let readers = readers.filter(|_| written);
        let others = readers
            .chain(&uses.writer)
            .filter(|other| !other.is_of(queue) && !other.has_ended());
        earlier.extend(others.map(|other| Arc::clone(&other.queue)));
    }

    /// Notes a use that was enqueued.
    fn note(&self, queue: &Arc<dyn Queue>, number: u64, written: bool, is_peer: bool) {
        if self.bytes == 0 {
            return;
        }
        let mut uses = lock(&self.uses);
        let new = || Use {
            queue: Arc::clone(queue),
            number,
            is_peer,
        };
        if written {
            uses.readers.clear();
            match &mut uses.writer {
                Some(writer) if writer.is_of(queue) => writer.number = number,
                writer => *writer = Some(new()),
            }
            return;
        }
        match (uses.readers.iter_mut()).find(|reader| reader.is_of(queue)) {
            Some(reader) => reader.number = number,
            None => {
                uses.readers.retain(|reader| !reader.has_ended());
                uses.readers.push(new());
            }
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes > 0 && !self.is_foreign {
            let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
            self.core.give(Block {
                address: self.address,
                bytes: self.capacity,
                uses: std::mem::take(uses),
            });
            self.core.budget.give_back(self.bytes as u64);
        }
    }
}

#[cfg(test)]
mod tests;
