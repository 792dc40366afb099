//! Which blocks of A and B go to which rank, and in what panels.

use std::ops::Range;

use crate::Blocks;

/// A product over a grid of ranks. Ranks in one row of the grid have blocks of the same rows of A;
/// ranks in one column, blocks of the same columns of B. A rank's block of C needs all of both.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(super) a: Blocks,
    pub(super) b: Blocks,
    /// Columns of B per panel.
    pub(super) panel: usize,
    /// Whether the last panel is [`TILE`] columns wide.
    pub(super) tapers: bool,
}

/// Default number of panels of B. The transfer of the first is not overlapped, so panels should be
/// small, but each must be large enough to fill a device.
const PANELS: usize = 8;

/// A whole number of tiles for every kernel.
const TILE: usize = 256;

impl Layout {
    /// A panel is `panel` columns wide, or an eighth of the widest block in whole tiles. In the
    /// latter case the last panel is split, and its final part is one tile wide: its smaller blocks
    /// fill the multiprocessors that the last wave of the other panels leaves idle. At 16384³ on
    /// two GPUs four tiles of 4096 would be a wave of their own, 3 % of the time.
    pub(crate) fn new(a: Blocks, b: Blocks, panel: Option<usize>) -> Self {
        let widest = (0..b.grid().cols).map(|col| b.cols().range(col).len());
        let eighth = widest.max().unwrap_or_default().div_ceil(PANELS);
        Self {
            panel: panel.unwrap_or(eighth.next_multiple_of(TILE)).max(1),
            tapers: panel.is_none(),
            a,
            b,
        }
    }

    /// How C is divided.
    pub(crate) fn c(&self) -> Blocks {
        Blocks::new(self.a.rows().clone(), self.b.cols().clone())
    }

    /// The columns of a rank's panels, counted within its block. One panel where B need not travel.
    pub(crate) fn panels(&self, rank: usize) -> Vec<Range<usize>> {
        let [_, cols] = self.b.block(rank);
        let len = cols.len();
        if self.b.grid().rows == 1 {
            return (len > 0).then_some(0..len).into_iter().collect();
        }
        let end = match self.tapers && len >= 2 * TILE {
            true => len - TILE,
            false => len,
        };
        let starts = (0..end).step_by(self.panel);
        let panels = starts.map(|start| start..end.min(start + self.panel));
        panels.chain((end < len).then_some(end..len)).collect()
    }

    /// Whether a rank's panel is the narrow last one, which fills idle multiprocessors.
    pub(super) fn is_narrow(&self, rank: usize, panel: &Range<usize>) -> bool {
        let [_, cols] = self.b.block(rank);
        self.tapers && panel.len() <= TILE && panel.end == cols.len()
    }

    /// The ranks whose blocks of A a rank gathers, itself included, each with its columns, in
    /// order. A rank without elements of C gathers only its own.
    pub(super) fn of_a(&self, rank: usize) -> Vec<(usize, Range<usize>)> {
        let grid = self.a.grid();
        let (row, _) = grid.place(rank);
        let holders = (0..grid.cols).map(|col| (grid.rank(row, col), self.a.cols().range(col)));
        self.gathered(rank, holders)
    }

    /// The same for B, each with its rows.
    pub(super) fn of_b(&self, rank: usize) -> Vec<(usize, Range<usize>)> {
        let grid = self.b.grid();
        let (_, col) = grid.place(rank);
        let holders = (0..grid.rows).map(|row| (grid.rank(row, col), self.b.rows().range(row)));
        self.gathered(rank, holders)
    }

    fn gathered(
        &self,
        rank: usize,
        holders: impl Iterator<Item = (usize, Range<usize>)>,
    ) -> Vec<(usize, Range<usize>)> {
        let all = self.multiplies(rank);
        let holders = holders.filter(|(_, held)| !held.is_empty());
        holders
            .filter(|(holder, _)| all || *holder == rank)
            .collect()
    }

    /// The other multiplying ranks in its row of the grid: they need this rank's block of A.
    pub(super) fn takers_of_a(&self, rank: usize) -> Vec<usize> {
        let grid = self.a.grid();
        let (row, _) = grid.place(rank);
        self.others(rank, (0..grid.cols).map(|col| grid.rank(row, col)))
    }

    /// The other multiplying ranks in its column of the grid: they need this rank's block of B.
    pub(super) fn takers_of_b(&self, rank: usize) -> Vec<usize> {
        let grid = self.b.grid();
        let (_, col) = grid.place(rank);
        self.others(rank, (0..grid.rows).map(|row| grid.rank(row, col)))
    }

    fn others(&self, rank: usize, ranks: impl Iterator<Item = usize>) -> Vec<usize> {
        let takers = ranks.filter(|&taker| taker != rank);
        takers.filter(|&taker| self.multiplies(taker)).collect()
    }

    /// Whether a rank has elements of C.
    pub(super) fn multiplies(&self, rank: usize) -> bool {
        let [rows, _] = self.a.block(rank);
        let [_, cols] = self.b.block(rank);
        !rows.is_empty() && !cols.is_empty()
    }

    /// A rank's rows, the inner extent, and its columns.
    pub(crate) fn lengths(&self, rank: usize) -> [usize; 3] {
        let [rows, cols] = self.c().block(rank).map(|range| range.len());
        [rows, self.a.cols().len(), cols]
    }

    /// The fraction of a rank's columns that must arrive before it multiplies.
    pub(crate) fn first_panel(&self, rank: usize) -> f64 {
        let [_, _, cols] = self.lengths(rank);
        let first = self.panels(rank).first().map_or(0, Range::len);
        first as f64 / cols.max(1) as f64
    }

    /// Elements of its blocks, of the parts of A that it gathers, of two panels of B and of C, and of
    /// its own rows of those of B.
    pub(crate) fn held(&self, rank: usize) -> usize {
        let [rows, inner, cols] = self.lengths(rank);
        let own = self.b.block(rank)[0].len();
        let [a, b] = [&self.a, &self.b].map(|blocks| {
            let [rows, cols] = blocks.block(rank);
            rows.len() * cols.len()
        });
        let grid = self.a.grid();
        let gathered = if grid.cols > 1 {
            2 * rows * inner - a
        } else {
            0
        };
        let panels = if grid.rows > 1 {
            2 * (inner + rows + own)
        } else {
            0
        };
        a + b + rows * cols + gathered + panels * self.panel.min(cols)
    }

    /// Elements that a rank receives from each other one: for A, all before it multiplies; for B,
    /// in panels.
    pub(crate) fn received(&self, rank: usize) -> [Vec<(usize, usize)>; 2] {
        let [rows, _] = self.a.block(rank);
        let [_, cols] = self.b.block(rank);
        let of = |holders: Vec<(usize, Range<usize>)>, other: usize| {
            let others = holders.into_iter().filter(|(holder, _)| *holder != rank);
            others
                .map(|(holder, own)| (holder, own.len() * other))
                .collect()
        };
        [
            of(self.of_a(rank), rows.len()),
            of(self.of_b(rank), cols.len()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Split};

    fn layout(panel: Option<usize>) -> Layout {
        let grid = Grid { rows: 2, cols: 2 };
        Layout::new(
            Blocks::new(Split::of(&[3, 0]), Split::of(&[4, 1])),
            Blocks::even([5, 7], grid),
            panel,
        )
    }

    #[test]
    fn panels_are_whole_tiles_and_end_with_the_block() {
        let [few, many] = [Some(3), None].map(layout);
        assert_eq!(few.panels(0), [0..3, 3..4]);
        assert_eq!(few.panels(1), [Range { start: 0, end: 3 }]);
        assert_eq!(many.panels(0), [Range { start: 0, end: 4 }]);
        assert_eq!(many.panel, TILE);
        let wide = |cols: usize, panel| {
            let square = Blocks::even([2, cols], Grid::column(2));
            Layout::new(square.clone(), square, panel).panels(0)
        };
        let widths = |panels: Vec<Range<usize>>| panels.iter().map(Range::len).collect::<Vec<_>>();
        assert_eq!(
            widths(wide(4096, None)),
            [512, 512, 512, 512, 512, 512, 512, 256, 256]
        );
        assert_eq!(widths(wide(4096, Some(2048))), [2048, 2048]);
        let square = Blocks::even([2, 1024], Grid::column(2));
        let four = Layout::new(square.clone(), square, None);
        let narrow = four.panels(0).into_iter();
        let narrow: Vec<bool> = narrow.map(|panel| four.is_narrow(0, &panel)).collect();
        assert_eq!(narrow, [false, false, false, true]);
        assert_eq!(widths(wide(300, None)), [256, 44]);
    }

    /// Ranks without rows of C receive nothing, and still send.
    #[test]
    fn blocks_travel_to_those_that_multiply() {
        let layout = layout(None);
        assert_eq!(layout.received(0), [vec![(1, 3)], vec![(2, 2 * 4)]]);
        assert_eq!(layout.received(1), [vec![(0, 3 * 4)], vec![(3, 2 * 3)]]);
        assert_eq!(layout.received(2), [vec![], vec![]]);
        assert_eq!(layout.takers_of_b(2), [0]);
        assert_eq!(layout.takers_of_a(3), [0_usize; 0]);
    }
}
