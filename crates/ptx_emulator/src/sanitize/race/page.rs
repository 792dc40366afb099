//! The compressed shadow of a page of memory.
//!
//! Warps mostly access memory in lines: consecutive lanes, consecutive words. Then the records of a
//! line's words differ only in their lanes, which increase by one per word, and one [`Cell`]
//! represents all of them. A line accessed in any other way gets one cell per word, until the whole
//! line is written again.

use super::record::{Cell, Record};

/// Words per line: half a warp writes one row of a tile.
pub(super) const LINE_WORDS: usize = 16;
pub(super) const LINE_BYTES: u64 = 4 * LINE_WORDS as u64;
/// Lines per page; pages are created on first access.
const LINES: usize = 64;
/// Bytes of memory that a page covers.
pub(super) const PAGE_BYTES: u64 = LINE_BYTES * LINES as u64;

pub(super) struct Page {
    /// The first word of each whole line.
    lines: [Cell; LINES],
    /// The lines with one cell per word.
    spread: u64,
    /// Those cells, for all lines; empty while every line is whole.
    cells: Vec<Cell>,
}

/// The shadow of a line.
pub(super) enum Line<'a> {
    /// The first word's cell; [`Cell::moved`] gives those of the other words.
    Whole(&'a mut Cell),
    Spread(&'a mut [Cell]),
}

impl Page {
    pub(super) fn new() -> Self {
        Self {
            lines: [Cell::default(); LINES],
            spread: 0,
            cells: Vec::new(),
        }
    }

    /// Clears everything but keeps the allocation.
    pub(super) fn clear(&mut self) {
        self.lines = [Cell::default(); LINES];
        self.spread = 0;
    }

    #[inline(always)]
    pub(super) fn line(&mut self, offset: u64) -> Line<'_> {
        let line = line(offset);
        if self.spread & (1 << line) == 0 {
            Line::Whole(&mut self.lines[line])
        } else {
            Line::Spread(&mut self.cells[line * LINE_WORDS..][..LINE_WORDS])
        }
    }

    /// Makes the line whole: its first word's cell represents all words.
    pub(super) fn make_whole(&mut self, offset: u64, first: Cell) {
        let line = line(offset);
        self.lines[line] = first;
        self.spread &= !(1 << line);
    }

    /// The cells of some words of one line.
    #[inline(always)]
    pub(super) fn words(&mut self, offset: u64, count: usize) -> &mut [Cell] {
        let line = line(offset);
        if self.spread & (1 << line) == 0 {
            self.spread(line);
        }
        let first = (offset % PAGE_BYTES / 4) as usize;
        &mut self.cells[first..first + count]
    }

    #[inline(never)]
    fn spread(&mut self, line: usize) {
        if self.cells.is_empty() {
            self.cells.resize(LINES * LINE_WORDS, Cell::default());
        }
        let words = &mut self.cells[line * LINE_WORDS..][..LINE_WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            *word = self.lines[line].moved(at);
        }
        self.spread |= 1 << line;
    }
}

impl Cell {
    /// The cell of a word of a whole line, from that of the first word.
    fn moved(&self, words: usize) -> Self {
        let moved = |mut record: Record| {
            record.lanes <<= words;
            record
        };
        Self {
            write: moved(self.write),
            others: self.others.map(moved),
            more: 0,
        }
    }
}

#[inline(always)]
fn line(offset: u64) -> usize {
    (offset / LINE_BYTES) as usize % LINES
}
