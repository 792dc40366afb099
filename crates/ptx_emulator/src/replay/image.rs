//! Device memory at one moment. Pages that did not change since an earlier image are shared with
//! it.

use crate::memory::{Chunks, Heap, Table};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Words of 8 bytes.
const PAGE: usize = 512;

pub(super) struct Image {
    /// In the table's order, by address.
    allocations: Vec<Vec<Arc<[u64]>>>,
    heap: Option<Chunks>,
    /// Pages that no earlier image has.
    own: usize,
}

impl Image {
    pub(super) fn of(table: &Table, before: Option<&Self>) -> Self {
        let mut own = 0;
        let allocations = table.allocations().iter().enumerate();
        let allocations = allocations.map(|(at, allocation)| {
            let known = before.and_then(|before| before.allocations.get(at));
            let pages = allocation.words_from(0).chunks(PAGE).enumerate();
            let pages = pages.map(|(page, words)| {
                let same = |known: &&Arc<[u64]>| {
                    let pairs = known.iter().zip(words);
                    pairs
                        .into_iter()
                        .all(|(known, word)| *known == word.load(Relaxed))
                };
                let known = known.and_then(|pages| pages.get(page)).filter(same);
                known.cloned().unwrap_or_else(|| {
                    own += 1;
                    words.iter().map(|word| word.load(Relaxed)).collect()
                })
            });
            pages.collect()
        });
        let allocations = allocations.collect();
        Self {
            allocations,
            heap: table.heap().map(Heap::state),
            own,
        }
    }

    /// Restores the table that it is an image of.
    pub(super) fn restore(&self, table: &Table) {
        for (allocation, pages) in table.allocations().iter().zip(&self.allocations) {
            let values = pages.iter().flat_map(|page| page.iter());
            for (word, &value) in allocation.words_from(0).iter().zip(values) {
                if word.load(Relaxed) != value {
                    word.store(value, Relaxed);
                }
            }
        }
        if let (Some(heap), Some(state)) = (table.heap(), &self.heap) {
            heap.restore(state);
        }
    }

    /// Bytes that it does not share with an earlier image.
    pub(super) fn own_bytes(&self) -> u64 {
        (8 * PAGE * self.own) as u64
    }
}
