//! The transpose of a matrix in row shards: all-to-all of tiles.
//!
//! Each rank transposes its rows as a single device would. The result consists of whole rows of
//! each other rank's tile, one tile after the other, so tiles are sent without a copy; arriving
//! tiles are put next to each other. A single rank transposes straight into the output.

use blockwise::{Buffer, Matrix};
use blockwise_ops::transpose as ops;
use blockwise_ops::{Element, Options};

use crate::call::Digest;
use crate::matrix::{block_len, elements};
use crate::{Blocks, Error, Rank, Result, ShardedMatrix, Split};

/// Which tiles are sent where. The input's rows are split, and so are its columns, which are the
/// output's rows.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) rows: Split,
    pub(crate) cols: Split,
}

impl Layout {
    /// Elements that a rank receives from each other one.
    pub(crate) fn received(&self, rank: usize) -> Vec<(usize, usize)> {
        let own = self.cols.range(rank).len();
        let others = (0..self.rows.ranks()).filter(|&from| from != rank);
        let tiles = others.map(|from| (from, self.rows.range(from).len() * own));
        tiles.filter(|(_, len)| *len > 0).collect()
    }
}

/// The transpose of matrices with certain row shards, with memory for copies of a rank's input and
/// output.
pub struct ShardedTranspose<T: Element> {
    layout: Layout,
    options: Options,
    /// This rank's rows, transposed.
    turned: Buffer<T>,
    /// The other ranks' tiles.
    arrived: Buffer<T>,
}

impl<T: Element> ShardedTranspose<T> {
    /// Allocates. The output's rows are evenly divided.
    ///
    /// # Errors
    /// A matrix that is not divided by rows, and a lack of memory.
    pub fn new(rank: &Rank, input: &Blocks, options: &Options) -> Result<Self> {
        let len = block_len(rank, input)?;
        if input.grid().cols > 1 {
            let what = "a matrix in blocks";
            return Err(Error::OtherSplit {
                rank: rank.number(),
                what,
            });
        }
        let [rows, cols] = input.shape();
        let alone = rank.ranks() == 1;
        let layout = Layout {
            rows: input.rows().clone(),
            cols: Split::even(cols, rank.ranks()),
        };
        let others = rows - layout.rows.range(rank.number()).len();
        let arrived = elements(rank, layout.cols.range(rank.number()).len(), others)?;
        let room = |len| rank.device().zeros(len).map_err(|e| rank.failed(e));
        Ok(Self {
            layout,
            options: *options,
            turned: room(if alone { 0 } else { len })?,
            arrived: room(arrived)?,
        })
    }

    /// How the output is divided.
    pub fn outputs(&self) -> Blocks {
        Blocks::by_rows(self.layout.cols.clone(), self.layout.rows.len())
    }

    /// Starts the transpose.
    ///
    /// # Errors
    /// Matrices of other blocks, and failures of a device or of the communication.
    #[track_caller]
    pub fn enqueue(
        &mut self,
        rank: &mut Rank,
        input: &ShardedMatrix<T>,
        output: &mut ShardedMatrix<T>,
    ) -> Result<()> {
        let outputs = self.outputs();
        let layout = &self.layout;
        let inputs = Blocks::by_rows(layout.rows.clone(), layout.cols.len());
        input.check_blocks(rank, "the matrix", &inputs)?;
        output.check_blocks(rank, "the output", &outputs)?;
        let digest = inputs.digest(Digest::new());
        let call = rank.call::<T>("transpose", &input.shape(), digest);

        let me = rank.number();
        let (own_rows, own_cols) = (layout.rows.range(me), layout.cols.range(me));
        let [rows, cols] = [own_rows.len(), layout.cols.len()];
        let alone = rank.ranks() == 1;
        let to = match alone {
            true => output.part_mut(),
            false => self.turned.as_view_mut(),
        };
        let from = Matrix::new(input.part(), rows, cols);
        let turned = ops::enqueue(rank.device(), None, from, to, &self.options);
        turned.map_err(|e| rank.failed(e))?;
        if alone {
            return Ok(());
        }

        let tile = |range: std::ops::Range<usize>| range.start * rows..range.end * rows;
        let others = (0..rank.ranks()).filter(|&other| other != me);
        let sends = others.map(|to| (to, self.turned.view(tile(layout.cols.range(to)))));
        let sends = sends.filter(|(_, tile)| !tile.is_empty());
        let mut receives = Vec::new();
        let mut rest = self.arrived.as_view_mut();
        for (from, len) in layout.received(me) {
            let (place, after) = rest.split_at_mut(len);
            rest = after;
            receives.push((from, place));
        }
        rank.exchange(&call, sends, receives)?;

        let pitch = layout.rows.len();
        let mut start = 0;
        for from in 0..rank.ranks() {
            let sent = layout.rows.range(from);
            let shape = [own_cols.len(), sent.len()];
            let tile = match from == me {
                true => self.turned.view(tile(own_cols.clone())),
                false => {
                    start += shape[0] * shape[1];
                    self.arrived.view(start - shape[0] * shape[1]..start)
                }
            };
            if tile.is_empty() {
                continue;
            }
            let mut to = output.part_mut().into_view_mut(sent.start..);
            let copied = to.copy_rows(pitch, tile, sent.len(), shape);
            copied.map_err(|e| rank.failed(e))?;
        }
        Ok(())
    }
}

/// The transpose of a matrix that is divided by rows, evenly divided by rows; waits for the result.
///
/// # Errors
/// As for [`ShardedTranspose::new`], and failures of a device or of the communication.
#[track_caller]
pub fn transpose<T: Element>(
    rank: &mut Rank,
    input: &ShardedMatrix<T>,
    options: &Options,
) -> Result<ShardedMatrix<T>> {
    let mut transpose = ShardedTranspose::new(rank, input.blocks(), options)?;
    let mut output = ShardedMatrix::zeros(rank, transpose.outputs())?;
    transpose.enqueue(rank, input, &mut output)?;
    rank.synchronize()?;
    Ok(output)
}
