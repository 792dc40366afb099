use super::sectors::SECTOR_BYTES;
use std::collections::HashMap;

/// The device memory that a launch touched, each sector counted once: the minimum traffic, with
/// perfect caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of the sectors that were read.
    pub read_bytes: u64,
    /// Bytes of the sectors that were written.
    pub written_bytes: u64,
}

/// A set of sectors: one bit each, by allocation.
#[derive(Default)]
pub(super) struct Touched {
    /// By base address of the allocation: sectors read and sectors written.
    allocations: HashMap<u64, [Vec<u64>; 2]>,
}

impl Touched {
    /// Marks the sectors of these lanes' bytes; offsets are relative to `base`, which is
    /// sector-aligned.
    pub(super) fn mark(
        &mut self,
        base: u64,
        size: u64,
        offsets: impl Iterator<Item = u64>,
        bytes: u32,
        writes: bool,
    ) {
        let bits = &mut self.allocations.entry(base).or_default()[usize::from(writes)];
        if bits.is_empty() {
            bits.resize((size.div_ceil(SECTOR_BYTES)).div_ceil(64) as usize, 0);
        }
        for offset in offsets {
            for sector in offset / SECTOR_BYTES..=(offset + u64::from(bytes) - 1) / SECTOR_BYTES {
                bits[(sector / 64) as usize] |= 1 << (sector % 64);
            }
        }
    }

    /// Adds the sectors that another footprint marked.
    pub(super) fn merge(&mut self, other: Self) {
        for (base, theirs) in other.allocations {
            let mine = self.allocations.entry(base).or_default();
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                if mine.is_empty() {
                    *mine = theirs;
                } else {
                    // Both have the allocation's length, or theirs is empty.
                    mine.iter_mut()
                        .zip(theirs)
                        .for_each(|(mine, theirs)| *mine |= theirs);
                }
            }
        }
    }

    pub(super) fn footprint(&self) -> Footprint {
        let bytes = |which: usize| {
            let bits = self.allocations.values().flat_map(|bits| &bits[which]);
            SECTOR_BYTES * bits.map(|bits| u64::from(bits.count_ones())).sum::<u64>()
        };
        Footprint {
            read_bytes: bytes(0),
            written_bytes: bytes(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_count_once_whoever_touches_them() {
        let mut one = Touched::default();
        one.mark(512, 4096, [0, 4, 28, 32].into_iter(), 4, false);
        one.mark(512, 4096, [0].into_iter(), 4, true);
        let mut two = Touched::default();
        // 16 bytes at offset 24 are in two sectors.
        two.mark(512, 4096, [24, 4080].into_iter(), 16, false);
        two.mark(8192, 32, [0].into_iter(), 1, true);
        one.merge(two);
        assert_eq!(
            one.footprint(),
            Footprint {
                read_bytes: 3 * 32,
                written_bytes: 2 * 32
            }
        );
    }
}
