//! What the shadow keeps of accesses.

/// In [`Record::pc`]: the access wrote.
const WRITES: u32 = 1 << 31;
/// As a record's time: the word's bytes have separate cells.
pub(super) const SPLIT: u32 = u32::MAX - 1;
/// As a record's time: an asynchronous copy that has not been waited for.
const PENDING: u32 = u32::MAX;

/// An access by some lanes of a warp; without lanes, no access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The warp's time: see [`clocks`](super::clocks).
    pub(super) time: u32,
    /// The warp's number in the launch; those of a block are consecutive.
    pub(super) warp: u32,
    pub(super) lanes: u32,
    pc: u32,
}

/// The shadow of a word or a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The last write.
    pub(super) write: Record,
    /// Later accesses that are not ordered before every other thread: reads, and atomics concurrent
    /// with other atomics.
    pub(super) others: [Record; 2],
    /// Index of the list with more of them, from 1; 0 for none.
    pub(super) more: u32,
}

impl Record {
    #[inline(always)]
    pub(super) fn new(time: u32, warp: u32, lanes: u32, pc: u32, writes: bool) -> Self {
        let pc = pc | if writes { WRITES } else { 0 };
        Self {
            time,
            warp,
            lanes,
            pc,
        }
    }

    /// An asynchronous copy in flight.
    pub(super) fn is_pending(&self) -> bool {
        self.time == PENDING
    }

    /// The same access, still in flight.
    pub(super) fn pending(self) -> Self {
        Self {
            time: PENDING,
            ..self
        }
    }

    pub(super) fn pc(&self) -> u32 {
        self.pc & !WRITES
    }

    pub(super) fn writes(&self) -> bool {
        self.pc & WRITES != 0
    }

    /// The same instruction of the same warp, with nothing between that orders the two.
    #[inline(always)]
    pub(super) fn joins(&self, other: &Record) -> bool {
        (self.time, self.warp, self.pc) == (other.time, other.warp, other.pc)
    }
}

impl Cell {
    pub(super) fn is_split(&self) -> bool {
        self.write.time == SPLIT
    }

    /// Drops all accesses but the last write.
    #[inline(always)]
    pub(super) fn forget_others(&mut self) {
        self.others[0].lanes = 0;
        self.others[1].lanes = 0;
    }
}
