use super::Chunks;

/// A snapshot of device memory.
pub(crate) struct Image {
    /// Base and words of each allocation.
    allocations: Vec<(u64, Vec<u64>)>,
    pub(super) heap: Option<Chunks>,
}

impl Image {
    pub(super) fn new(allocations: Vec<(u64, Vec<u64>)>, heap: Option<Chunks>) -> Self {
        Self { allocations, heap }
    }

    pub(super) fn allocations(&self) -> impl Iterator<Item = (u64, &[u64])> {
        self.allocations
            .iter()
            .map(|(base, words)| (*base, words.as_slice()))
    }

    /// The address of the first byte that differs from another snapshot of the same allocations.
    /// The heap is not compared: the host cannot see it, and which thread gets which chunk is
    /// unspecified.
    pub(crate) fn first_difference(&self, other: &Self, heap: u64) -> Option<u64> {
        let pairs = self.allocations.iter().zip(&other.allocations);
        let results = pairs.filter(|((base, _), _)| *base != heap);
        results.into_iter().find_map(|((base, a), (_, b))| {
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            let byte = (a[at] ^ b[at]).trailing_zeros() / 8;
            Some(base + 8 * at as u64 + u64::from(byte))
        })
    }
}
