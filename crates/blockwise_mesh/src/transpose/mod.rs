//! The transpose of a matrix in row shards: all-to-all of tiles, or none.
//!
//! Each rank transposes its rows as a single device would, a piece of them after the other. The
//! result consists of whole rows of each other rank's tile, one tile after the other, so tiles are
//! sent without a copy; arriving tiles are put next to each other. While a piece travels, the next
//! ones are transposed and the one before is put in its place. Two devices of one process copy each
//! other's tiles row by row to their places. A single rank transposes straight into the output.
//!
//! A result that stays where it is, [divided by columns](ShardedTranspose::by_columns), takes no
//! exchange.

use std::ops::Range;
use std::sync::Arc;

use blockwise::{Buffer, Matrix, Stream};
use blockwise_ops::transpose as ops;
use blockwise_ops::{Element, Options};

use crate::call::Digest;
use crate::carried::aligned;
use crate::matrix::{block_len, elements};
use crate::{Blocks, Call, Error, Rank, Result, ShardedMatrix, Split};

/// Bytes that a rank should receive with one piece: links reach their full speed.
const PIECE: usize = 64 << 20;

/// Pieces at most. More of them overlap more, but what overlaps takes memory bandwidth from NCCL,
/// and rows of a piece are shorter: 32768² on two H200 takes 5.6, 4.7, 5.2 and 5.1 ms in 1, 2, 4 and
/// 8 pieces, of which 4.0 to 4.3 are the transfers alone; by copies to their places 3.9, 3.5 and 3.7
/// in 1, 2 and 4 (docs/log/2026-11-26-mesh.md).
const MOST_PIECES: usize = 2;

/// A piece has a multiple of these rows, so that tiles and their rows stay aligned.
const ROWS: usize = 256;

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

    /// The rows of piece number `piece` of `pieces`, counted from the start of the rank's shard.
    fn piece(&self, rank: usize, piece: usize, pieces: usize) -> Range<usize> {
        let rows = self.rows.range(rank).len();
        let align = if rows >= ROWS * pieces { ROWS } else { 1 };
        aligned(rows, align, pieces).range(piece)
    }
}

/// The transpose of matrices with certain row shards, with memory for copies of a rank's input and
/// output.
pub struct ShardedTranspose<T: Element> {
    layout: Layout,
    options: Options,
    by_columns: bool,
    lanes: Vec<Lane<T>>,
    /// Where tiles are copied to their places: for the other device's, and for the own ones. Lanes
    /// have nothing but what the other one waits for.
    copies: Option<[Stream; 2]>,
}

/// A piece's memory and stream. Each piece has its own: a stream that waits for another one waits
/// for everything that is in it by then.
struct Lane<T: Element> {
    stream: Stream,
    /// This rank's rows of the piece, transposed.
    turned: Buffer<T>,
    /// The other ranks' tiles, unless they are copied to their places.
    arrived: Buffer<T>,
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

    /// The same, with tiles exchanged in `pieces` pieces. All ranks pass the same number, at least 1.
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
            let rows = |rank| layout.piece(rank, piece, pieces).len();
            let others = (0..rank.ranks()).filter(|&other| other != me && !gathers(rank));
            let others = others.map(rows).sum();
            let turned = elements(rank, rows(me), layout.cols.len())?;
            let arrived = elements(rank, layout.cols.range(me).len(), others)?;
            let room = |len| rank.device().zeros(len).map_err(|e| rank.failed(e));
            Ok(Lane {
                stream: rank.device().stream().map_err(|e| rank.failed(e))?,
                turned: room(turned)?,
                arrived: room(arrived)?,
            })
        };
        let copies = || {
            let device = rank.device();
            let streams = device.urgent_stream();
            let streams = streams.and_then(|copies| Ok([copies, device.stream()?]));
            streams.map_err(|e| rank.failed(e))
        };
        let lanes: Result<_> = match rank.ranks() {
            1 => Ok(Vec::new()),
            _ => (0..pieces).map(lane).collect(),
        };
        Ok(Self {
            lanes: lanes?,
            copies: gathers(rank).then(copies).transpose()?,
            by_columns: false,
            layout,
            options: *options,
        })
    }

    /// The transpose whose result stays where it is: each rank has the output's columns that were
    /// its rows. Nothing is sent, and no memory is needed.
    ///
    /// # Errors
    /// A matrix that is not divided by rows.
    pub fn by_columns(rank: &Rank, input: &Blocks, options: &Options) -> Result<Self> {
        Ok(Self {
            layout: layout(rank, input)?,
            options: *options,
            by_columns: true,
            lanes: Vec::new(),
            copies: None,
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
        if self.lanes.is_empty() {
            let from = Matrix::new(input.part(), layout.rows.range(me).len(), cols);
            let to = output.part_mut();
            let turn = || ops::enqueue(rank.device(), None, from, to, &self.options);
            let turned = rank.enqueue("kernel", None, turn);
            return turned.map(drop).map_err(|e| rank.failed(e));
        }
        let pieces = self.lanes.len();
        for (piece, lane) in self.lanes.iter_mut().enumerate() {
            let rows = layout.piece(me, piece, pieces);
            let from = input.part().view(rows.start * cols..rows.end * cols);
            let from = Matrix::new(from, rows.len(), cols);
            let (stream, to) = (Some(&lane.stream), lane.turned.as_view_mut());
            let turn = || ops::enqueue(rank.device(), stream, from, to, &self.options);
            let turned = rank.enqueue("kernel", stream, turn);
            turned.map_err(|e| rank.failed(e))?;
        }
        for piece in 0..pieces {
            match &self.copies {
                Some(copies) => self.gather(rank, &call, copies, output, piece)?,
                None => {
                    self.exchange(rank, &call, piece)?;
                    self.put(rank, output, piece)?;
                }
            }
        }
        Ok(())
    }

    /// Copies the tiles of a piece to their places. Those of the last piece go through the device's
    /// own queue, so that waiting for the device waits for all of the output.
    fn gather(
        &self,
        rank: &Rank,
        call: &Arc<Call>,
        [copies, beside]: &[Stream; 2],
        output: &mut ShardedMatrix<T>,
        piece: usize,
    ) -> Result<()> {
        let (me, layout, pieces) = (rank.number(), &self.layout, self.lanes.len());
        let turned = &self.lanes[piece].turned;
        let own = layout.piece(me, piece, pieces).len();
        let tile = |to: usize| {
            let cols = layout.cols.range(to);
            turned.view(cols.start * own..cols.end * own)
        };
        let is_empty = layout.cols.range(me).is_empty();
        let first = |from: usize| {
            let rows = layout.piece(from, piece, pieces);
            let first = layout.rows.range(from).start + rows.start;
            (!rows.is_empty() && !is_empty).then_some(first)
        };
        let last = rank.device().own_stream();
        let stream = if piece + 1 < pieces { copies } else { &last };
        let output = (output.part_mut(), layout.rows.len());
        rank.gather_tiles(call, [stream, beside], tile, output, first)
    }

    /// Starts the transfers of a piece.
    fn exchange(&mut self, rank: &Rank, call: &Arc<Call>, piece: usize) -> Result<()> {
        let (me, layout, pieces) = (rank.number(), &self.layout, self.lanes.len());
        let Lane {
            turned, arrived, ..
        } = &mut self.lanes[piece];
        let rows = |rank| layout.piece(rank, piece, pieces).len();
        let others = || (0..rank.ranks()).filter(|&other| other != me);
        let sends = others().map(|to| {
            let cols = layout.cols.range(to);
            (to, turned.view(cols.start * rows(me)..cols.end * rows(me)))
        });
        let sends = sends.filter(|(_, tile)| !tile.is_empty());
        let own_cols = layout.cols.range(me).len();
        let mut receives = Vec::new();
        let mut rest = arrived.as_view_mut();
        for from in others() {
            let (place, after) = rest.split_at_mut(own_cols * rows(from));
            rest = after;
            if !place.is_empty() {
                receives.push((from, place));
            }
        }
        rank.exchange_all(call, sends, receives)
    }

    /// Puts the tiles of a piece next to each other. Those of the last piece go through the device's
    /// own queue, so that waiting for the device waits for all of the output.
    fn put(&self, rank: &Rank, output: &mut ShardedMatrix<T>, piece: usize) -> Result<()> {
        let (me, layout, pieces) = (rank.number(), &self.layout, self.lanes.len());
        let Lane {
            stream,
            turned,
            arrived,
        } = &self.lanes[piece];
        let stream = (piece + 1 < pieces).then_some(stream);
        let own_cols = layout.cols.range(me);
        let pitch = layout.rows.len();
        let mut start = 0;
        let mut put = |from: usize| {
            let rows = layout.piece(from, piece, pieces);
            let shape = [own_cols.len(), rows.len()];
            let tile = match from == me {
                true => turned.view(own_cols.start * rows.len()..own_cols.end * rows.len()),
                false => {
                    start += shape[0] * shape[1];
                    arrived.view(start - shape[0] * shape[1]..start)
                }
            };
            if tile.is_empty() {
                return Ok(());
            }
            let at = layout.rows.range(from).start + rows.start;
            let mut to = output.part_mut().into_view_mut(at..);
            let put = || to.copy_rows_on(stream, pitch, tile, rows.len(), shape);
            rank.enqueue("put", stream, put).map_err(|e| rank.failed(e))
        };
        // The own tile first: it need not wait.
        put(me)?;
        (0..rank.ranks())
            .filter(|&from| from != me)
            .try_for_each(put)
    }
}

/// Whether tiles are copied straight to their places. Copies of more than two devices disturb each
/// other, and take twice as long as NCCL (docs/log/2026-11-26-mesh.md).
fn gathers(rank: &Rank) -> bool {
    rank.ranks() == 2 && rank.lends()
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
