//! Memory of dropped buffers, kept for later ones.
//!
//! The driver's own pools (`cuMemAllocAsync`) are slower where it counts:
//! `docs/log/2026-11-26-steps.md`.

use std::collections::BTreeMap;

use crate::uses::Uses;

/// The address of empty buffers: a slice's must not be null. It is aligned like allocated memory,
/// so that an empty buffer can be read as any type.
pub(crate) const NOWHERE: u64 = 256;

/// The bytes that stay after a wait.
pub(crate) const KEPT: u64 = 64 << 20;

/// Memory with the uses of its last owner, which may still run. The next owner's uses are ordered
/// after them, as if it were the same buffer.
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) uses: Uses,
}

impl Block {
    /// No memory, at an address.
    pub(crate) fn nothing(address: u64) -> Self {
        Self {
            address,
            bytes: 0,
            uses: Uses::default(),
        }
    }
}

/// Blocks that no buffer owns.
#[derive(Default)]
pub(crate) struct Unused {
    /// By size, then age.
    blocks: BTreeMap<(u64, u64), Block>,
    /// Sizes by age: the number of blocks that were unused before.
    ages: BTreeMap<u64, u64>,
    bytes: u64,
    given: u64,
}

impl Unused {
    pub(crate) fn give(&mut self, block: Block) {
        self.bytes += block.bytes;
        self.ages.insert(self.given, block.bytes);
        self.blocks.insert((block.bytes, self.given), block);
        self.given += 1;
    }

    /// The smallest block of at least `bytes`, unless it wastes more than a quarter of them (256
    /// bytes are always fine, 2 MiB are the most). Of equal ones the oldest, whose last uses have
    /// most likely ended.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<Block> {
        let most = bytes.saturating_add((bytes / 4).clamp(256, 2 << 20));
        let (&key, _) = self.blocks.range((bytes, 0)..=(most, u64::MAX)).next()?;
        self.remove(key)
    }

    /// Takes the oldest blocks until at most `kept` bytes are left.
    pub(crate) fn excess(&mut self, kept: u64) -> Vec<Block> {
        let mut excess = Vec::new();
        while self.bytes > kept
            && let Some((&age, &bytes)) = self.ages.first_key_value()
        {
            excess.extend(self.remove((bytes, age)));
        }
        excess
    }

    fn remove(&mut self, key: (u64, u64)) -> Option<Block> {
        let block = self.blocks.remove(&key)?;
        self.ages.remove(&key.1);
        self.bytes -= block.bytes;
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(sizes: &[u64]) -> Unused {
        let mut unused = Unused::default();
        for (address, &bytes) in (1..).zip(sizes) {
            unused.give(Block {
                address,
                bytes,
                uses: Uses::default(),
            });
        }
        unused
    }

    fn taken(unused: &mut Unused, bytes: u64) -> Option<u64> {
        unused.take(bytes).map(|block| block.address)
    }

    #[test]
    fn the_best_fit_is_taken_and_of_equal_ones_the_oldest() {
        let mut unused = with(&[8000, 4000, 4096, 4000]);
        assert_eq!(taken(&mut unused, 4000), Some(2));
        assert_eq!(taken(&mut unused, 3999), Some(4));
        assert_eq!(taken(&mut unused, 4000), Some(3));
        assert_eq!(taken(&mut unused, 4000), None, "8,000 are too many");
        assert_eq!(taken(&mut unused, 8001), None);
        assert_eq!(taken(&mut unused, 8000), Some(1));
        assert_eq!(taken(&mut unused, 1), None);
        assert!(unused.bytes == 0 && unused.ages.is_empty());
    }

    #[test]
    fn little_is_wasted() {
        assert_eq!(taken(&mut with(&[256]), 1), Some(1));
        assert_eq!(taken(&mut with(&[513]), 256), None);
        assert_eq!(taken(&mut with(&[1280]), 1024), Some(1));
        assert_eq!(taken(&mut with(&[1281]), 1024), None);
        let large = 1 << 32;
        assert_eq!(taken(&mut with(&[large + (2 << 20)]), large), Some(1));
        assert_eq!(taken(&mut with(&[large + (2 << 20) + 1]), large), None);
        assert_eq!(taken(&mut with(&[u64::MAX]), u64::MAX), Some(1));
    }

    #[test]
    fn the_oldest_go_first() {
        let mut unused = with(&[10, 30, 20]);
        let mut excess = |kept| -> Vec<u64> {
            let blocks = unused.excess(kept);
            blocks.iter().map(|block| block.address).collect()
        };
        assert_eq!(excess(60), [0; 0]);
        assert_eq!(excess(59), [1]);
        assert_eq!(excess(20), [2]);
        assert_eq!(excess(19), [3]);
        assert_eq!(excess(0), [0; 0]);
    }
}
