//! The record of the uses of memory.

use std::sync::Arc;

use crate::backend::Queue;

/// The queues that use memory.
#[derive(Default)]
pub(crate) struct Uses {
    /// The last one that wrote.
    pub(crate) writer: Option<Use>,
    /// Those that have read since, each after a wait for the writer.
    pub(crate) readers: Vec<Use>,
}

/// The last use by a queue.
pub(crate) struct Use {
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) number: u64,
    /// Whether the queue is another device's.
    pub(crate) is_peer: bool,
}

impl Use {
    pub(crate) fn is_of(&self, queue: &Arc<dyn Queue>) -> bool {
        is_same(&self.queue, queue)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.queue.progress().has_ended(self.number)
    }
}

impl Uses {
    /// Waits for other devices' reads: a device that frees memory waits for its own work only.
    pub(crate) fn settle_peers(&self) {
        let peers = self.readers.iter().filter(|reader| reader.is_peer);
        for reader in peers.filter(|reader| !reader.has_ended()) {
            // A failed device reads nothing any more.
            let _ = reader.queue.settle();
        }
    }

    /// Forgets uses that have ended, and with them their queues.
    pub(crate) fn forget_ended(&mut self) {
        self.writer.take_if(|writer| writer.has_ended());
        self.readers.retain(|reader| !reader.has_ended());
    }
}

/// Compares addresses only: one type may have several vtables.
pub(crate) fn is_same(a: &Arc<dyn Queue>, b: &Arc<dyn Queue>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}
