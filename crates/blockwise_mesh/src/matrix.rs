//! Matrices that are divided into blocks over the ranks.

use std::ops::Range;
use std::sync::Arc;

use blockwise::{Buffer, ViewMut};
use blockwise_ops::{Element, LaunchError};

use crate::call::Digest;
use crate::{Call, Error, Rank, Result, Split};

/// Ranks in rows and columns: rank `row · cols + col` is at (row, col).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Rows of ranks.
    pub rows: usize,
    /// Columns of ranks.
    pub cols: usize,
}

impl Grid {
    /// All ranks in one column: each has whole rows of a matrix.
    pub fn column(ranks: usize) -> Self {
        Self {
            rows: ranks,
            cols: 1,
        }
    }

    /// The grid of all ranks in which a matrix product moves the fewest bytes.
    ///
    /// Each row of ranks gathers its rows of A, each column its columns of B. Together, r × c ranks
    /// receive `rows·inner·(c − 1) + inner·cols·(r − 1)` elements. On a tie the grid with the
    /// fewest columns wins, because it gathers less of A before it multiplies: row shards for two
    /// ranks and a square product, 2 × 2 for four.
    pub fn for_product([rows, inner, cols]: [usize; 3], ranks: usize) -> Self {
        let moved = |grid: &Self| {
            let a = (rows as f64) * (grid.cols as f64 - 1.0);
            let b = (cols as f64) * (grid.rows as f64 - 1.0);
            inner as f64 * (a + b)
        };
        let grids = (1..=ranks).filter(|cols| ranks.is_multiple_of(*cols));
        let grids = grids.map(|cols| Self {
            rows: ranks / cols,
            cols,
        });
        let least = grids.min_by(|one, other| moved(one).total_cmp(&moved(other)));
        least.unwrap_or(Self::column(ranks))
    }

    /// The number of ranks.
    pub fn ranks(self) -> usize {
        self.rows * self.cols
    }

    /// A rank's row and column.
    pub(crate) fn place(self, rank: usize) -> (usize, usize) {
        (rank / self.cols, rank % self.cols)
    }

    /// The rank in that row and column.
    pub(crate) fn rank(self, row: usize, col: usize) -> usize {
        row * self.cols + col
    }
}

/// How a matrix is divided: the grid's rows of ranks divide its rows, the grid's columns its
/// columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    rows: Split,
    cols: Split,
}

impl Blocks {
    /// Blocks of these rows and columns; the splits' ranks are the grid.
    pub fn new(rows: Split, cols: Split) -> Self {
        Self { rows, cols }
    }

    /// Blocks whose extents differ by one at most.
    pub fn even([rows, cols]: [usize; 2], grid: Grid) -> Self {
        Self::new(Split::even(rows, grid.rows), Split::even(cols, grid.cols))
    }

    /// Whole rows for each rank.
    pub fn by_rows(rows: Split, cols: usize) -> Self {
        Self::new(rows, Split::of(&[cols]))
    }

    /// The split of the rows.
    pub fn rows(&self) -> &Split {
        &self.rows
    }

    /// The split of the columns.
    pub fn cols(&self) -> &Split {
        &self.cols
    }

    /// The matrix's rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows.len(), self.cols.len()]
    }

    /// The grid of ranks.
    pub fn grid(&self) -> Grid {
        Grid {
            rows: self.rows.ranks(),
            cols: self.cols.ranks(),
        }
    }

    /// A rank's rows and columns.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn block(&self, rank: usize) -> [Range<usize>; 2] {
        let (row, col) = self.grid().place(rank);
        [self.rows.range(row), self.cols.range(col)]
    }

    pub(crate) fn digest(&self, sofar: Digest) -> Digest {
        let grid = self.grid();
        let sofar = sofar.number(grid.rows).number(grid.cols);
        self.cols.digest(self.rows.digest(sofar))
    }
}

/// A rank's block of a matrix, in row-major order.
#[derive(Debug)]
pub struct ShardedMatrix<T: Element> {
    blocks: Blocks,
    rank: usize,
    part: Buffer<T>,
}

impl<T: Element> ShardedMatrix<T> {
    /// Copies this rank's block to its device.
    ///
    /// # Errors
    /// A block of the wrong length, a grid with a different number of ranks, and a lack of memory.
    pub fn upload(rank: &Rank, blocks: Blocks, part: &[T]) -> Result<Self> {
        let needed = block_len(rank, &blocks)?;
        if part.len() != needed {
            return Err(Error::PartLength {
                rank: rank.number(),
                needed,
                given: part.len(),
            });
        }
        let part = rank.device().upload(part).map_err(|e| rank.failed(e))?;
        Ok(Self::new(rank, blocks, part))
    }

    /// Takes this rank's block of a row-major matrix that all ranks have.
    ///
    /// # Errors
    /// A matrix of the wrong length, a grid with a different number of ranks, and a lack of memory.
    pub fn part_of(rank: &Rank, whole: &[T], blocks: Blocks) -> Result<Self> {
        block_len(rank, &blocks)?;
        let [_, pitch] = blocks.shape();
        if Some(whole.len()) != blocks.rows.len().checked_mul(pitch) {
            return Err(Error::PartLength {
                rank: rank.number(),
                needed: blocks.rows.len().saturating_mul(pitch),
                given: whole.len(),
            });
        }
        let [rows, cols] = blocks.block(rank.number());
        let row = |row| &whole[row * pitch..][cols.clone()];
        let part: Vec<T> = rows.flat_map(row).copied().collect();
        Self::upload(rank, blocks, &part)
    }

    /// A matrix of zeros.
    ///
    /// # Errors
    /// A grid with a different number of ranks, a lack of memory, and failures of the device.
    pub fn zeros(rank: &Rank, blocks: Blocks) -> Result<Self> {
        let len = block_len(rank, &blocks)?;
        let part = rank.device().zeros(len).map_err(|e| rank.failed(e))?;
        Ok(Self::new(rank, blocks, part))
    }

    fn new(rank: &Rank, blocks: Blocks, part: Buffer<T>) -> Self {
        Self {
            blocks,
            rank: rank.number(),
            part,
        }
    }

    /// How the matrix is divided.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The matrix's rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        self.blocks.shape()
    }

    /// This rank's block.
    pub fn part(&self) -> &Buffer<T> {
        &self.part
    }

    /// This rank's block, mutable.
    pub fn part_mut(&mut self) -> ViewMut<'_, T> {
        self.part.as_view_mut()
    }

    /// Sets every byte of this rank's block.
    ///
    /// # Errors
    /// When the device fails.
    pub fn fill_bytes(&mut self, rank: &Rank, value: u8) -> Result<()> {
        self.part.fill_bytes(value).map_err(|e| rank.failed(e))
    }

    /// The whole matrix in row-major order, on every rank's host.
    ///
    /// # Errors
    /// Failures of a device or of the communication.
    #[track_caller]
    pub fn gather(&self, rank: &mut Rank) -> Result<Vec<T>> {
        let (call, part) = self.announced(rank, "gather")?;
        let parts = rank.all(&call, &part)?;
        self.whole(rank, parts)
    }

    /// The same on rank 0's host only; `None` on the others.
    ///
    /// # Errors
    /// Failures of a device or of the communication.
    #[track_caller]
    pub fn collect(&self, rank: &mut Rank) -> Result<Option<Vec<T>>> {
        let (call, part) = self.announced(rank, "collect")?;
        if rank.number() > 0 {
            rank.send(0, &call, &part)?;
            return Ok(None);
        }
        let others = (1..rank.ranks()).map(|from| rank.receive(from, &call));
        let parts: Result<Vec<_>> = [Ok(part)].into_iter().chain(others).collect();
        self.whole(rank, parts?).map(Some)
    }

    #[track_caller]
    fn announced(&self, rank: &mut Rank, operation: &str) -> Result<(Arc<Call>, Vec<T>)> {
        self.check(rank, "the matrix")?;
        let digest = self.blocks.digest(Digest::new());
        let call = rank.call::<T>(operation, &self.shape(), digest);
        let part = self.part.to_vec().map_err(|e| rank.failed(e))?;
        Ok((call, part))
    }

    /// Assembles all ranks' blocks.
    fn whole(&self, rank: &Rank, parts: Vec<Vec<T>>) -> Result<Vec<T>> {
        let [rows, cols] = self.shape();
        let mut whole = vec![T::default(); elements(rank, rows, cols)?];
        for (number, part) in parts.iter().enumerate() {
            let [own_rows, own_cols] = self.blocks.block(number);
            let to = own_rows.map(|row| row * cols + own_cols.start);
            for (to, row) in to.zip(part.chunks(own_cols.len().max(1))) {
                whole[to..to + row.len()].copy_from_slice(row);
            }
        }
        Ok(whole)
    }

    /// Refuses another rank's matrix.
    pub(crate) fn check(&self, rank: &Rank, what: &'static str) -> Result<()> {
        if self.rank != rank.number() || self.blocks.grid().ranks() != rank.ranks() {
            return Err(Error::Foreign {
                rank: rank.number(),
                what,
                of: self.rank,
                ranks: self.blocks.grid().ranks(),
            });
        }
        Ok(())
    }

    /// Also refuses a matrix with other blocks.
    pub(crate) fn check_blocks(
        &self,
        rank: &Rank,
        what: &'static str,
        blocks: &Blocks,
    ) -> Result<()> {
        self.check(rank, what)?;
        if self.blocks != *blocks {
            return Err(Error::OtherSplit {
                rank: rank.number(),
                what,
            });
        }
        Ok(())
    }
}

/// The elements of a rank's block.
pub(crate) fn block_len(rank: &Rank, blocks: &Blocks) -> Result<usize> {
    let ranks = blocks.grid().ranks();
    if ranks != rank.ranks() {
        return Err(Error::Foreign {
            rank: rank.number(),
            what: "the grid",
            of: rank.number(),
            ranks,
        });
    }
    let [rows, cols] = blocks.block(rank.number());
    elements(rank, rows.len(), cols.len())
}

/// Elements of a matrix on a rank's device.
pub(crate) fn elements(rank: &Rank, rows: usize, cols: usize) -> Result<usize> {
    let what = "a part of a matrix";
    let overflow = || rank.failed(LaunchError::SizeOverflow { what });
    rows.checked_mul(cols).ok_or_else(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(of: [usize; 3], ranks: usize) -> (usize, usize) {
        let grid = Grid::for_product(of, ranks);
        (grid.rows, grid.cols)
    }

    #[test]
    fn a_product_takes_the_grid_that_moves_least() {
        assert_eq!(grid([100; 3], 1), (1, 1));
        assert_eq!(grid([100; 3], 2), (2, 1));
        assert_eq!(grid([100; 3], 4), (2, 2));
        assert_eq!(grid([100; 3], 8), (4, 2));
        assert_eq!(grid([100; 3], 7), (7, 1));
        // A has few rows, so A is transferred; then B.
        assert_eq!(grid([10, 100, 1000], 4), (1, 4));
        assert_eq!(grid([1000, 100, 10], 4), (4, 1));
    }

    #[test]
    fn blocks_cover_a_matrix_once() {
        let blocks = Blocks::new(Split::of(&[2, 0, 3]), Split::of(&[1, 4]));
        let mut owners = vec![0; 5 * 5];
        for rank in 0..6 {
            let [rows, cols] = blocks.block(rank);
            for row in rows {
                cols.clone().for_each(|col| owners[row * 5 + col] += 1);
            }
        }
        assert_eq!(owners, [1; 25]);
        assert_eq!(blocks.grid(), Grid { rows: 3, cols: 2 });
        assert_eq!(blocks.block(5), [2..5, 1..5]);
    }
}
