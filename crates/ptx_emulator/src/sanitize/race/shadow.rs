//! Shadow memory: for each 4-byte word, the last write and the accesses since.

use super::page::{LINE_BYTES, PAGE_BYTES, Page};
use super::record::{Cell, Record, SPLIT};
use std::ops::Range;

/// Maximum accesses kept per word beyond those in its cell: one for each warp of a block.
const MOST_SPILLED: usize = 32;

/// The shadow of a range of memory.
#[derive(Default)]
pub(super) struct Shadow {
    pages: Vec<Option<Box<Page>>>,
    bytes: Vec<[Cell; 4]>,
    pub(super) spilled: Spilled,
    /// A page could not be created.
    cut: bool,
}

/// Accesses that did not fit into their cells.
#[derive(Default)]
pub(super) struct Spilled(Vec<Vec<Record>>);

impl Shadow {
    /// Clears everything but keeps the allocation.
    pub(super) fn clear(&mut self) {
        self.pages
            .iter_mut()
            .flatten()
            .for_each(|page| page.clear());
        self.bytes.clear();
        self.spilled.0.clear();
    }

    /// Drops the accesses to some words.
    pub(super) fn forget(&mut self, bytes: Range<u64>) {
        let end = bytes.end.next_multiple_of(4);
        let mut start = bytes.start;
        while start < end {
            let next = end.min((start / LINE_BYTES + 1) * LINE_BYTES);
            if let Some(Some(page)) = self.pages.get_mut((start / PAGE_BYTES) as usize) {
                if next - start == LINE_BYTES {
                    page.make_whole(start, Cell::default());
                } else {
                    page.words(start, ((next - start) / 4) as usize)
                        .fill(Cell::default());
                }
            }
            start = next;
        }
    }

    /// Whether part of it could not be tracked.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// The page with that number; created if `room`, the number of remaining pages, allows.
    #[inline(always)]
    pub(super) fn page(&mut self, number: usize, room: &mut u64) -> Option<&mut Page> {
        if self.pages.get(number).is_none_or(Option::is_none) {
            self.make_page(number, room)?;
        }
        self.pages[number].as_deref_mut()
    }

    #[cold]
    fn make_page(&mut self, number: usize, room: &mut u64) -> Option<()> {
        let Some(left) = room.checked_sub(1) else {
            self.cut = true;
            return None;
        };
        *room = left;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        self.pages[number] = Some(Box::new(Page::new()));
        Some(())
    }

    /// The cell of a word, unless its bytes have separate cells.
    pub(super) fn known(&mut self, offset: u64) -> Option<Cell> {
        let page = self.pages.get_mut((offset / PAGE_BYTES) as usize)?;
        let cell = page.as_deref_mut()?.words(offset, 1)[0];
        (!cell.is_split()).then_some(cell)
    }

    /// Visits the cells of some bytes, with the bytes of each.
    pub(super) fn visit_all(
        &mut self,
        start: u64,
        size: u64,
        mut each: impl FnMut(Range<u64>, &mut Cell, &mut Spilled),
    ) {
        let end = start + size;
        let mut at = start;
        while at < end {
            let size = (4 - at % 4).min(end - at);
            self.visit(at, size, &mut each);
            at += size;
        }
    }

    /// Visits the cells of some bytes inside one word: the word's own cell if the whole word is
    /// accessed and never was in parts.
    fn visit(
        &mut self,
        start: u64,
        size: u64,
        mut each: impl FnMut(Range<u64>, &mut Cell, &mut Spilled),
    ) {
        let Some(Some(page)) = self.pages.get_mut((start / PAGE_BYTES) as usize) else {
            return;
        };
        let cell = &mut page.words(start, 1)[0];
        if size == 4 && !cell.is_split() {
            return each(start..start + 4, cell, &mut self.spilled);
        }
        if !cell.is_split() {
            let parts = [*cell; 4].map(|cell| Cell {
                more: self.spilled.copy(cell.more),
                ..cell
            });
            *cell = Cell::default();
            // No warp has this number, so no access matches the record.
            cell.write = Record::new(SPLIT, u32::MAX, 1, self.bytes.len() as u32, true);
            self.bytes.push(parts);
        }
        let bytes = &mut self.bytes[cell.write.pc() as usize];
        for at in start..start + size {
            each(at..at + 1, &mut bytes[at as usize % 4], &mut self.spilled);
        }
    }
}

impl Spilled {
    pub(super) fn of(&self, cell: &Cell) -> &[Record] {
        match cell.more {
            0 => &[],
            more => &self.0[more as usize - 1],
        }
    }

    /// Adds an access; if there are too many, the oldest is dropped.
    pub(super) fn push(&mut self, cell: &mut Cell, record: Record) {
        if cell.more == 0 {
            self.0.push(Vec::new());
            cell.more = self.0.len() as u32;
        }
        let list = &mut self.0[cell.more as usize - 1];
        if let Some(known) = list.iter_mut().find(|known| known.joins(&record)) {
            known.lanes |= record.lanes;
        } else {
            if list.len() == MOST_SPILLED {
                list.remove(0);
            }
            list.push(record);
        }
    }

    pub(super) fn of_mut(&mut self, cell: &Cell) -> &mut [Record] {
        match cell.more {
            0 => &mut [],
            more => &mut self.0[more as usize - 1],
        }
    }

    /// Keeps the accesses for which `keep` is true.
    pub(super) fn retain(&mut self, cell: &Cell, keep: impl FnMut(&Record) -> bool) {
        if cell.more != 0 {
            self.0[cell.more as usize - 1].retain(keep);
        }
    }

    fn copy(&mut self, more: u32) -> u32 {
        if more == 0 {
            return 0;
        }
        let list = self.0[more as usize - 1].clone();
        self.0.push(list);
        self.0.len() as u32
    }
}
