use crate::fault::Nearest;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Alignment of every chunk, as in CUDA.
const ALIGNMENT: u64 = 16;
/// Minimum unused bytes between two chunks.
const GUARD: u64 = 16;
/// Number of freed chunks kept for reports.
const REMEMBERED: usize = 256;

/// The heap of device code's `malloc`: chunks of one global allocation, by offset.
pub(crate) struct Heap {
    pub(super) base: u64,
    chunks: Mutex<Chunks>,
}

/// The state of the heap outlives a launch, as on a GPU: one kernel may free what another
/// allocated.
#[derive(Clone)]
pub(crate) struct Chunks {
    live: BTreeMap<u64, u64>,
    /// Unallocated ranges, none adjacent to another.
    free: BTreeMap<u64, u64>,
    freed: VecDeque<(u64, u64)>,
    /// Where the search for space starts, so that freed space is reused as late as possible.
    next: u64,
}

impl Heap {
    pub(super) fn new(base: u64, size: u64) -> Self {
        let chunks = Chunks {
            live: BTreeMap::new(),
            free: BTreeMap::from([(0, size)]),
            freed: VecDeque::new(),
            next: 0,
        };
        Self {
            base,
            chunks: Mutex::new(chunks),
        }
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> Chunks {
        self.chunks().clone()
    }

    pub(crate) fn restore(&self, state: &Chunks) {
        *self.chunks() = state.clone();
    }

    /// The address of a new chunk; 0 if there is no space.
    pub(crate) fn malloc(&self, size: u64) -> u64 {
        self.chunks()
            .take(size)
            .map_or(0, |offset| self.base + offset)
    }

    /// Frees a chunk; the error says why the address is not one.
    pub(crate) fn free(&self, address: u64) -> Result<(), &'static str> {
        self.chunks().give(address.wrapping_sub(self.base))
    }

    /// Whether all of `size` bytes at a heap address are in one chunk; if not, the nearest chunk.
    pub(crate) fn check(&self, address: u64, size: u64) -> Result<(), Option<Nearest>> {
        let chunks = self.chunks();
        let offset = address - self.base;
        let before = chunks.live.range(..=offset).next_back();
        let inside = |&(start, length): &(&u64, &u64)| offset - start + size <= *length;
        if before.filter(inside).is_some() {
            return Ok(());
        }
        let nearest = |start: u64, size: u64, freed: bool| Nearest {
            base: self.base + start,
            size,
            offset: i128::from(offset) - i128::from(start),
            freed,
        };
        let freed = chunks
            .freed
            .iter()
            .rfind(|&&(start, size)| offset >= start && offset - start < size);
        let after = chunks.live.range(offset..).next();
        Err(match (freed, before, after) {
            (Some(&(start, size)), ..) => Some(nearest(start, size, true)),
            (None, Some((&start, &size)), Some((&next, _)))
                if offset - start - size <= next - offset =>
            {
                Some(nearest(start, size, false))
            }
            (None, _, Some((&start, &size))) | (None, Some((&start, &size)), None) => {
                Some(nearest(start, size, false))
            }
            (None, None, None) => None,
        })
    }
}

impl Chunks {
    fn take(&mut self, size: u64) -> Option<u64> {
        // Even a chunk of zero bytes has a unique address.
        let length = size
            .max(1)
            .checked_add(GUARD)?
            .checked_next_multiple_of(ALIGNMENT)?;
        let fits = |&(_, room): &(&u64, &u64)| *room >= length;
        let later = self.free.range(self.next..).find(fits);
        let (&start, &room) = later.or_else(|| self.free.iter().find(fits))?;
        self.free.remove(&start);
        if room > length {
            self.free.insert(start + length, room - length);
        }
        self.next = start + length;
        self.live.insert(start, size);
        Some(start)
    }

    fn give(&mut self, offset: u64) -> Result<(), &'static str> {
        let Some(size) = self.live.remove(&offset) else {
            return Err(if self.freed.iter().any(|&(start, _)| start == offset) {
                "it was freed before"
            } else {
                "`malloc` did not return it"
            });
        };
        if self.freed.len() == REMEMBERED {
            self.freed.pop_front();
        }
        self.freed.push_back((offset, size));
        let (mut start, mut length) = (offset, (size.max(1) + GUARD).next_multiple_of(ALIGNMENT));
        if let Some(after) = self.free.remove(&(start + length)) {
            length += after;
        }
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            (start, length) = (before, room + length);
        }
        self.free.insert(start, length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_chunks_join_and_serve_again() {
        let heap = Heap::new(1 << 40, 256);
        let (a, b, c) = (heap.malloc(40), heap.malloc(100), heap.malloc(20));
        assert_eq!((b - a, a % 16, b % 16, c % 16), (64, 0, 0, 0));
        assert_eq!(heap.malloc(100), 0);
        assert_eq!(heap.free(b), Ok(()));
        assert_eq!(heap.free(a), Ok(()));
        assert_eq!(heap.free(a), Err("it was freed before"));
        assert_eq!(heap.free(c + 4), Err("`malloc` did not return it"));
        assert_eq!(heap.malloc(160), a);
    }

    #[test]
    fn an_access_must_lie_in_a_live_chunk() {
        let heap = Heap::new(1 << 40, 1024);
        let (a, b) = (heap.malloc(40), heap.malloc(8));
        assert_eq!(heap.check(a + 36, 4), Ok(()));
        let past = heap.check(a + 40, 4).unwrap_err().expect("a neighbour");
        assert_eq!((past.base, past.offset, past.freed), (a, 40, false));
        assert_eq!(heap.free(b), Ok(()));
        let stale = heap.check(b, 8).unwrap_err().expect("a freed chunk");
        assert_eq!((stale.base, stale.freed), (b, true));
    }
}
