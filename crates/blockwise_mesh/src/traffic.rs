//! The bytes and messages sent over each link.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes and messages that ranks have sent each other. A clone shares the counts.
///
/// Messages that only compare calls count as messages without bytes.
#[derive(Clone, Debug)]
pub struct Traffic {
    ranks: usize,
    /// One per pair of ranks, by sender and receiver.
    links: Arc<[Link]>,
}

#[derive(Debug, Default)]
struct Link {
    bytes: AtomicU64,
    messages: AtomicU64,
}

impl Traffic {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            ranks,
            links: (0..ranks * ranks).map(|_| Link::default()).collect(),
        }
    }

    pub(crate) fn count(&self, from: usize, to: usize, bytes: usize) {
        let link = &self.links[from * self.ranks + to];
        link.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        link.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes that one rank has sent another. 0 for ranks of other processes, which are not counted
    /// here.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn bytes(&self, from: usize, to: usize) -> u64 {
        self.link(from, to).bytes.load(Ordering::Relaxed)
    }

    /// Messages that one rank has sent another.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn messages(&self, from: usize, to: usize) -> u64 {
        self.link(from, to).messages.load(Ordering::Relaxed)
    }

    fn link(&self, from: usize, to: usize) -> &Link {
        let ranks = self.ranks;
        assert!(from < ranks && to < ranks, "there are {ranks} ranks");
        &self.links[from * ranks + to]
    }
}
