//! Ranks that are threads of one process.

use std::sync::Arc;

use super::{Office, Wire};
use crate::{Call, Result};

/// One rank's way to the others of its process.
pub(crate) struct Memory {
    rank: usize,
    office: Arc<Office>,
}

impl Memory {
    /// All ranks of an office.
    pub(crate) fn of(office: &Arc<Office>) -> Vec<Self> {
        let rank = |rank| Self {
            rank,
            office: Arc::clone(office),
        };
        (0..office.ranks()).map(rank).collect()
    }
}

impl Wire for Memory {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.office.ranks()
    }

    fn send(&self, to: usize, call: &Arc<Call>, bytes: Vec<u8>) -> Result<()> {
        self.office.check(self.rank)?;
        self.office.send(self.rank, to, Arc::clone(call), bytes);
        Ok(())
    }

    fn receive(&self, from: usize, call: &Arc<Call>) -> Result<Vec<u8>> {
        self.office.receive(self.rank, from, call)
    }

    fn office(&self) -> Option<Arc<Office>> {
        Some(Arc::clone(&self.office))
    }

    #[cfg(feature = "cuda")]
    fn check(&self) -> Result<()> {
        self.office.check(self.rank)
    }

    #[cfg(feature = "cuda")]
    fn limit(&self) -> std::time::Duration {
        self.office.limit()
    }

    fn end(&self, failure: Option<String>) {
        self.office.end(self.rank, failure);
    }
}
