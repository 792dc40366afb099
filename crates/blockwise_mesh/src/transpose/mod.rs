//! The transpose of a matrix in row shards: all-to-all of blocks, or none.
//!
//! Each rank gathers the columns of the input that become its rows, and transposes them as a single
//! device would, straight into its output. They arrive in pieces of columns: while one is transposed,
//! the next ones travel. Devices of one process copy a block's rows from where they are; otherwise
//! they are packed and sent. A single rank transposes its input.
//!
//! A result that stays where it is, [divided by columns](ShardedTranspose::by_columns), takes no
//! exchange.

use std::ops::Range;
use std::sync::Arc;

use blockwise::{Buffer, Matrix, Stream, ViewMut};
use blockwise_ops::transpose as ops;
use blockwise_ops::{Element, Options};

use crate::call::Digest;
use crate::carried::aligned;
use crate::matrix::{block_len, elements};
use crate::rank::{Exchange, Rows};
use crate::{Blocks, Call, Error, Rank, Result, ShardedMatrix, Split};

/// Bytes that a rank should receive with one piece: links reach their full speed.
const PIECE: usize = 32 << 20;

/// Pieces at most. What is not overlapped is the first piece's own block and the last one's
/// transpose; rows that are copied are shorter with more pieces.
const MOST_PIECES: usize = 4;

/// A piece has a multiple of these columns, so that rows stay aligned.
const COLS: usize = 256;

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

    /// In how many pieces ranks exchange their tiles.
    pub(crate) fn pieces(&self, element_bytes: usize) -> usize {
        let received = |rank| {
            let others = self.rows.len() - self.rows.range(rank).len();
            others * self.cols.range(rank).len()
        };
        let most = (0..self.rows.ranks()).map(received).max().unwrap_or(0);
        (most.saturating_mul(element_bytes) / PIECE).clamp(1, MOST_PIECES)
    }

    /// A piece of the columns that become a rank's rows.
    fn piece(&self, rank: usize, piece: usize, pieces: usize) -> Range<usize> {
        let own = self.cols.range(rank);
        let align = if own.len() >= COLS * pieces { COLS } else { 1 };
        let part = aligned(own.len(), align, pieces).range(piece);
        own.start + part.start..own.start + part.end
    }
}

/// The transpose of matrices with certain row shards, with memory for the columns that a rank
/// gathers, and where devices do not copy from each other for what it sends.
pub struct ShardedTranspose<T: Element> {
    layout: Layout,
    options: Options,
    by_columns: bool,
    lanes: Vec<Lane<T>>,
    /// For copies of the rank's own blocks.
    copies: Stream,
}

/// A piece's memory.
struct Lane<T: Element> {
    /// The piece's columns of all rows.
    gathered: Buffer<T>,
    /// The other ranks' columns of the own rows, one block after the other.
    packed: Buffer<T>,
}

impl<T: Element> ShardedTranspose<T> {
    /// Allocates. The output's rows are evenly divided.
    ///
    /// # Errors
    /// A matrix that is not divided by rows, and a lack of memory.
    pub fn new(rank: &Rank, input: &Blocks, options: &Options) -> Result<Self> {
        let layout = layout(rank, input)?;
        let pieces = layout.pieces(size_of::<T>());
        Self::in_pieces(rank, input, options, pieces)
    }

    /// The same, with columns exchanged in `pieces` pieces. All ranks pass the same number, at least
    /// 1.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn in_pieces(
        rank: &Rank,
        input: &Blocks,
        options: &Options,
        pieces: usize,
    ) -> Result<Self> {
        let (layout, me, pieces) = (layout(rank, input)?, rank.number(), pieces.max(1));
        let lane = |piece| {
            let cols = |rank| layout.piece(rank, piece, pieces).len();
            let others = (0..rank.ranks()).filter(|&other| other != me && !rank.lends());
            let gathered = elements(rank, layout.rows.len(), cols(me))?;
            let packed = elements(rank, layout.rows.range(me).len(), others.map(cols).sum())?;
            let room = |len| rank.device().zeros(len).map_err(|e| rank.failed(e));
            Ok(Lane {
                gathered: room(gathered)?,
                packed: room(packed)?,
            })
        };
        let lanes: Result<_> = match rank.ranks() {
            1 => Ok(Vec::new()),
            _ => (0..pieces).map(lane).collect(),
        };
        Self::with(rank, layout.clone(), options, lanes?)
    }

    fn with(rank: &Rank, layout: Layout, options: &Options, lanes: Vec<Lane<T>>) -> Result<Self> {
        Ok(Self {
            lanes,
            by_columns: false,
            layout,
            options: *options,
            copies: rank.device().stream().map_err(|e| rank.failed(e))?,
        })
    }

    /// The transpose whose result stays where it is: each rank has the output's columns that were
    /// its rows. Nothing is sent, and no memory is needed.
    ///
    /// # Errors
    /// A matrix that is not divided by rows.
    pub fn by_columns(rank: &Rank, input: &Blocks, options: &Options) -> Result<Self> {
        Ok(Self {
            by_columns: true,
            ..Self::with(rank, layout(rank, input)?, options, Vec::new())?
        })
    }

    /// How the output is divided.
    pub fn outputs(&self) -> Blocks {
        let Layout { rows, cols } = &self.layout;
        match self.by_columns {
            true => Blocks::new(Split::of(&[cols.len()]), rows.clone()),
            false => Blocks::by_rows(cols.clone(), rows.len()),
        }
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
        let digest = inputs.digest(Digest::new()).number(self.lanes.len());
        let call = rank.call::<T>("transpose", &input.shape(), digest);

        let (me, cols) = (rank.number(), layout.cols.len());
        let turn = |rank: &Rank, from: Matrix<'_, T>, to: ViewMut<'_, T>| {
            let turned = ops::enqueue(rank.device(), None, from, to, &self.options);
            turned.map(drop).map_err(|e| rank.failed(e))
        };
        if self.lanes.is_empty() {
            let from = Matrix::new(input.part(), layout.rows.range(me).len(), cols);
            return turn(rank, from, output.part_mut());
        }
        let pieces = self.lanes.len();
        for (piece, lane) in self.lanes.iter_mut().enumerate() {
            let gathering = Gathering {
                layout,
                piece,
                pieces,
                copies: &self.copies,
            };
            let exchange = gathering.begin(rank, &call, input, lane)?;
            rank.end_exchange(&call, exchange)?;
            let cols = layout.piece(me, piece, pieces);
            let start = layout.cols.range(me).start;
            let (rows, places) = (layout.rows.len(), cols.start - start..cols.end - start);
            let from = Matrix::new(&lane.gathered, rows, cols.len());
            let to = output.part_mut();
            let places = places.start * rows..places.end * rows;
            turn(rank, from, to.into_view_mut(places))?;
        }
        Ok(())
    }
}

/// One piece on its way.
struct Gathering<'l> {
    layout: &'l Layout,
    piece: usize,
    pieces: usize,
    copies: &'l Stream,
}

impl Gathering<'_> {
    /// Copies the own block, and begins to send and to receive the others.
    fn begin<'v, T: Element>(
        &self,
        rank: &Rank,
        call: &Arc<Call>,
        input: &'v ShardedMatrix<T>,
        lane: &'v mut Lane<T>,
    ) -> Result<Exchange<'v, T>> {
        let (me, layout, pitch) = (rank.number(), self.layout, self.layout.cols.len());
        let cols = |rank| layout.piece(rank, self.piece, self.pieces);
        let others = || (0..rank.ranks()).filter(|&other| other != me);
        let rows = layout.rows.range(me).len();
        // The own rows of a rank's columns: nothing where there are none.
        let block = |of| {
            let cols: Range<usize> = cols(of);
            let shape = [rows, cols.len()];
            let start = if rows == 0 { 0 } else { cols.start };
            (input.part().view(start..), shape)
        };
        let Lane { gathered, packed } = lane;
        let mut rest = gathered.as_view_mut();
        let mut receives = Vec::new();
        for from in 0..rank.ranks() {
            let (mut place, after) =
                rest.split_at_mut(layout.rows.range(from).len() * cols(me).len());
            rest = after;
            if from != me {
                receives.push((from, place));
                continue;
            }
            let (view, shape) = block(me);
            let copies = Some(self.copies);
            let copied = place.copy_rows_on(copies, shape[1], view, pitch, shape);
            copied.map_err(|e| rank.failed(e))?;
        }
        receives.retain(|(_, place)| !place.is_empty());
        let blocks = others().map(|to| (to, block(to)));
        let blocks = blocks.filter(|(_, (_, shape))| !shape.contains(&0));
        if rank.lends() {
            let sends = blocks.map(|(to, (view, shape))| (to, Rows { view, pitch, shape }));
            return rank.begin_rows(call, sends, receives);
        }
        let mut lens = Vec::new();
        let mut rest = packed.as_view_mut();
        for (to, (view, shape)) in blocks {
            let (mut place, after) = rest.split_at_mut(shape[0] * shape[1]);
            rest = after;
            let copied = place.copy_rows_on(Some(self.copies), shape[1], view, pitch, shape);
            copied.map_err(|e| rank.failed(e))?;
            lens.push((to, place.len()));
        }
        let mut start = 0;
        let packed = &*packed;
        let sends = lens.into_iter().map(|(to, len)| {
            start += len;
            (to, packed.view(start - len..start))
        });
        rank.begin_exchange(call, sends, receives)
    }
}

/// The layout of a matrix that is divided by rows.
fn layout(rank: &Rank, input: &Blocks) -> Result<Layout> {
    block_len(rank, input)?;
    if input.grid().cols > 1 {
        let what = "a matrix in blocks";
        return Err(Error::OtherSplit {
            rank: rank.number(),
            what,
        });
    }
    let [_, cols] = input.shape();
    Ok(Layout {
        rows: input.rows().clone(),
        cols: Split::even(cols, rank.ranks()),
    })
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
