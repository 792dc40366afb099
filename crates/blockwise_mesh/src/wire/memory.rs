//! Ranks that are threads of one process.

use std::sync::Arc;

use super::{Data, Mailbox, Wire};
use crate::{Call, Result};

/// One rank's connection to the others of its process.
pub(crate) struct Memory {
    rank: usize,
    mailbox: Arc<Mailbox>,
}

impl Memory {
    /// All ranks of a mailbox.
    pub(crate) fn of(mailbox: &Arc<Mailbox>) -> Vec<Self> {
        let rank = |rank| Self {
            rank,
            mailbox: Arc::clone(mailbox),
        };
        (0..mailbox.ranks()).map(rank).collect()
    }
}

impl Wire for Memory {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.mailbox.ranks()
    }

    fn send(&self, to: usize, call: &Arc<Call>, bytes: Vec<u8>) -> Result<()> {
        let data = Data::Bytes(bytes);
        self.mailbox.send(self.rank, to, Arc::clone(call), data)
    }

    fn receive(&self, from: usize, call: &Arc<Call>) -> Result<Data> {
        self.mailbox.receive(self.rank, from, call)
    }

    fn mailbox(&self) -> Option<Arc<Mailbox>> {
        Some(Arc::clone(&self.mailbox))
    }

    #[cfg(feature = "cuda")]
    fn check(&self) -> Result<()> {
        self.mailbox.check(self.rank)
    }

    #[cfg(feature = "cuda")]
    fn limit(&self) -> std::time::Duration {
        self.mailbox.limit()
    }

    fn end(&self, failure: Option<String>) {
        self.mailbox.end(self.rank, failure);
    }
}
