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

    /// The addresses of the words of 4 bytes that differ from another snapshot of the same
    /// allocations. The heap is not compared: the host cannot see it, and which thread gets which
    /// chunk is unspecified.
    pub(crate) fn differences<'a>(
        &'a self,
        other: &'a Self,
        heap: u64,
    ) -> impl Iterator<Item = u64> + 'a {
        let pairs = self.allocations.iter().zip(&other.allocations);
        let results = pairs.filter(move |((base, _), _)| *base != heap);
        results.flat_map(|((base, a), (_, b))| {
            let words = (*base..).step_by(8).zip(a.iter().zip(b));
            words.flat_map(|(at, (a, b))| {
                let halves = [(at, a ^ b), (at + 4, (a ^ b) >> 32)];
                let halves = halves.map(|(at, bits)| (at, bits as u32 != 0));
                halves.into_iter().filter(|half| half.1).map(|half| half.0)
            })
        })
    }
}
