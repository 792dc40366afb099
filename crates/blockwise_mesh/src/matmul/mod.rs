//! The product of matrices that are divided into blocks.
//!
//! Each rank gathers its rows of A along its row of the grid, and its columns of B along its
//! column, as in SUMMA. B arrives in panels of columns: while one is multiplied, the next one is in
//! transit. With row shards, a grid of one column, A does not move.
//!
//! Panels alternate between two streams, so that the blocks of one start where the last wave of the
//! previous one leaves multiprocessors idle: together they take as many waves as one launch would.
//!
//! A panel has the whole inner extent, and its sums run in the order of the whole product's
//! ([`SumOrder`]): the bits are a single device's. In that order panels have the kernel and tiles
//! that are fastest for all of them together, and the narrow last panel those for the end.

mod plan;

use std::sync::Arc;

use blockwise::{AnyView, Buffer, Stream};
use blockwise_ops::matmul::{self, MATMUL, Place, SumOrder};
use blockwise_ops::operation::{self, Problem};
use blockwise_ops::{Float, Options};

pub(crate) use self::plan::Layout;
use crate::call::Digest;
use crate::matrix::{block_len, elements};
use crate::{Blocks, Call, Error, Rank, Result, ShardedMatrix};

/// How to multiply sharded matrices. The same on all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardedMatmulOptions {
    /// How each panel is launched.
    pub launch: Options,
    /// The [operation](MATMUL)'s settings.
    pub settings: [u8; 2],
    /// Columns of B per panel. `None` takes an eighth of a rank's columns, and fewer at the end.
    pub panel: Option<usize>,
}

/// A product for certain blocks, with memory for what a rank gathers: its rows of A where other
/// ranks have parts of them, and two panels of B.
pub struct ShardedMatmul<T: Float> {
    layout: Layout,
    /// The rank's rows of A, unless it owns them whole.
    rows: Option<Gathered<T>>,
    lanes: [Lane<T>; 2],
    /// For copies that overlap with the products: of B's panels, and into C. Both wait for room
    /// between a product's blocks; in one stream, a panel's transfer would wait for that twice.
    copies: Stream,
    puts: Stream,
}

/// The resources of every other panel. The next panel's blocks start while the last ones of a panel
/// still run.
struct Lane<T: Float> {
    stream: Stream,
    /// The panel of B.
    panel: Buffer<T>,
    /// This rank's rows of it, for the others. Nothing is written beside what they copy, and they
    /// copy from nowhere that waits for this rank's copies from them.
    own: Buffer<T>,
    /// The panel's part of C, if C has several.
    product: Buffer<T>,
    /// The products for a panel and for the narrower ones at the end: of a rank's rows of A.
    multiply: Vec<(Problem, operation::Call)>,
}

/// Blocks of other ranks, as they arrive and in their final place.
struct Gathered<T: Float> {
    arrived: Buffer<T>,
    whole: Buffer<T>,
}

impl<T: Float> ShardedMatmul<T> {
    /// Chooses kernels and allocates memory.
    ///
    /// # Errors
    /// Shapes that do not match, unequal grids, the errors of [`operation::Call::prepare`], and a lack of
    /// memory.
    pub fn new(
        rank: &Rank,
        a: &Blocks,
        b: &Blocks,
        options: &ShardedMatmulOptions,
    ) -> Result<Self> {
        let failed = |e| rank.failed(e);
        let whole = matmul::problem(T::TYPE, a.shape(), b.shape()).map_err(failed)?;
        let [_, inner, ..] = whole.extents;
        block_len(rank, a)?;
        if a.grid() != b.grid() {
            let what = "B";
            return Err(Error::OtherSplit {
                rank: rank.number(),
                what,
            });
        }
        let layout = Layout::new(a.clone(), b.clone(), options.panel);
        let (me, device) = (rank.number(), rank.device());
        let block = layout.c().block(me);
        let first = block[0].start;
        let [c_rows, c_cols] = block.map(|range| range.len());
        let panels = layout.panels(me);
        let of_cols = |cols| Problem {
            settings: options.settings,
            ..Problem::new(T::TYPE, &[c_rows, inner, cols])
        };
        let whole = Problem {
            settings: options.settings,
            ..whole
        };
        let properties = device.properties();
        let order = SumOrder::of(&whole, &options.launch, properties).map_err(failed)?;
        let room = |rows, cols| {
            let len = elements(rank, rows, cols)?;
            device.zeros(len).map_err(|e| rank.failed(e))
        };
        let gathers = layout.multiplies(me) && a.grid().cols > 1;
        let gathered = || {
            let [_, own] = a.block(me);
            Ok(Gathered {
                arrived: room(c_rows, inner - own.len())?,
                whole: room(c_rows, inner)?,
            })
        };
        let depth = match b.grid().rows {
            1 => 0,
            _ => layout.of_b(me).iter().map(|(_, rows)| rows.len()).sum(),
        };
        let lane = |which: usize| {
            let mut multiply: Vec<(Problem, operation::Call)> = Vec::new();
            let mut widest = 0;
            for panel in panels.iter().skip(which).step_by(2) {
                let problem = of_cols(panel.len());
                widest = widest.max(panel.len());
                if multiply.iter().all(|(of, _)| *of != problem) {
                    // The waves of blocks of wide panels overlap.
                    let all = of_cols(c_cols);
                    let place = match layout.is_narrow(me, panel) {
                        true => Place::AtTheEnd(all),
                        false => Place::Among(all),
                    };
                    let launch = order.part(&problem, first, place, properties);
                    let mut product = operation::Call::new(device, &MATMUL, launch);
                    product.prepare(&problem, true).map_err(failed)?;
                    multiply.push((problem, product));
                }
            }
            let several = panels.len() > 1;
            let own = match layout.takers_of_b(me)[..] {
                [] => 0,
                _ => b.block(me)[0].len(),
            };
            Ok(Lane {
                stream: device.stream().map_err(|e| rank.failed(e))?,
                panel: room(depth, widest)?,
                own: room(own, widest)?,
                product: room(c_rows, if several { widest } else { 0 })?,
                multiply,
            })
        };
        Ok(Self {
            rows: gathers.then(gathered).transpose()?,
            lanes: [lane(0)?, lane(1)?],
            copies: device.urgent_stream().map_err(|e| rank.failed(e))?,
            puts: device.urgent_stream().map_err(|e| rank.failed(e))?,
            layout,
        })
    }

    /// How C is divided.
    pub fn outputs(&self) -> Blocks {
        self.layout.c()
    }

    /// Starts the product.
    ///
    /// # Errors
    /// Matrices of other blocks, and failures of a device or of the communication.
    #[track_caller]
    pub fn enqueue(
        &mut self,
        rank: &mut Rank,
        a: &ShardedMatrix<T>,
        b: &ShardedMatrix<T>,
        c: &mut ShardedMatrix<T>,
    ) -> Result<()> {
        let layout = &self.layout;
        a.check_blocks(rank, "A", &layout.a)?;
        b.check_blocks(rank, "B", &layout.b)?;
        c.check_blocks(rank, "C", &layout.c())?;
        let [rows, inner] = a.shape();
        let [_, cols] = b.shape();
        let digest = layout.a.digest(Digest::new()).number(layout.panel);
        let digest = layout.b.digest(digest);
        let call = rank.call::<T>("matmul", &[rows, inner, cols], digest);

        self.gather_a(rank, &call, a)?;
        let panels = self.layout.panels(rank.number());
        if !panels.is_empty() {
            self.fetch(rank, &call, b, 0)?;
        }
        // A stream that waits for another waits for everything enqueued there so far. So a panel's
        // product is enqueued before the next panel is fetched, and its copy into C after that.
        for panel in 0..panels.len() {
            self.multiply(rank, a, b, c, panel)?;
            if panel > 0 {
                self.put(rank, c, panel - 1)?;
            }
            if panel + 1 < panels.len() {
                self.fetch(rank, &call, b, panel + 1)?;
            }
        }
        match panels.len() {
            0 | 1 => Ok(()),
            several => self.put(rank, c, several - 1),
        }
    }

    /// Sends this rank's block of A along its row of the grid, and gathers the row's blocks.
    fn gather_a(&mut self, rank: &mut Rank, call: &Arc<Call>, a: &ShardedMatrix<T>) -> Result<()> {
        let (me, layout) = (rank.number(), &self.layout);
        let takers = layout.takers_of_a(me).into_iter();
        let takers = takers.filter(|_| !a.part().is_empty());
        let sends = takers.map(|taker| (taker, a.part().as_view()));
        let Some(Gathered { arrived, whole }) = &mut self.rows else {
            return rank.exchange(call, sends, []);
        };
        let rows = layout.a.block(me)[0].len();
        let [_, inner] = layout.a.shape();
        let holders = layout.of_a(me);
        let mut receives = Vec::new();
        let mut rest = arrived.as_view_mut();
        for (holder, cols) in holders.iter().filter(|(holder, _)| *holder != me) {
            let (place, after) = rest.split_at_mut(rows * cols.len());
            rest = after;
            receives.push((*holder, place));
        }
        rank.exchange(call, sends, receives)?;
        let mut start = 0;
        for (holder, cols) in &holders {
            let block = match *holder == me {
                true => a.part().as_view(),
                false => {
                    let len = rows * cols.len();
                    start += len;
                    arrived.view(start - len..start)
                }
            };
            let copied = whole.view_mut(cols.start..).copy_rows(
                inner,
                block,
                cols.len(),
                [rows, cols.len()],
            );
            copied.map_err(|e| rank.failed(e))?;
        }
        Ok(())
    }

    /// Sends this rank's rows of a panel of B along its column of the grid, and gathers the panel.
    fn fetch(
        &mut self,
        rank: &mut Rank,
        call: &Arc<Call>,
        b: &ShardedMatrix<T>,
        panel: usize,
    ) -> Result<()> {
        let (me, layout) = (rank.number(), &self.layout);
        if layout.b.grid().rows == 1 {
            return Ok(());
        }
        let [_, held] = layout.b.block(me);
        let cols = layout.panels(me).swap_remove(panel);
        let takers = layout.takers_of_b(me);
        let mut receives = Vec::new();
        let Lane { panel, own, .. } = &mut self.lanes[panel % 2];
        let mut rest = panel.as_view_mut();
        let mut sent = 0;
        for (holder, rows) in layout.of_b(me) {
            let (mut place, after) = rest.split_at_mut(rows.len() * cols.len());
            rest = after;
            if holder != me {
                receives.push((holder, place));
                continue;
            }
            let from = b.part().view(cols.start..);
            let shape = [rows.len(), cols.len()];
            let copies = Some(&self.copies);
            let pack = || place.copy_rows_on(copies, cols.len(), from, held.len(), shape);
            let copied = rank.enqueue("pack", copies, pack);
            copied.map_err(|e| rank.failed(e))?;
            if !takers.is_empty() {
                sent = rows.len() * cols.len();
                let mut own = own.view_mut(..sent);
                let pack = || own.copy_rows_on(copies, cols.len(), from, held.len(), shape);
                let copied = rank.enqueue("pack", copies, pack);
                copied.map_err(|e| rank.failed(e))?;
            }
        }
        let sends = takers.iter().filter(|_| sent > 0);
        let sends = sends.map(|&taker| (taker, own.view(..sent)));
        rank.exchange(call, sends, receives)
    }

    /// Starts the product of a panel.
    fn multiply(
        &mut self,
        rank: &Rank,
        a: &ShardedMatrix<T>,
        b: &ShardedMatrix<T>,
        c: &mut ShardedMatrix<T>,
        panel: usize,
    ) -> Result<()> {
        let (me, layout) = (rank.number(), &self.layout);
        if !layout.multiplies(me) {
            return Ok(());
        }
        let [rows, _] = layout.c().block(me).map(|range| range.len());
        let panels = layout.panels(me);
        let cols = panels[panel].len();
        let [_, inner] = layout.a.shape();
        let a = match &self.rows {
            Some(gathered) => gathered.whole.as_view(),
            None => a.part().as_view(),
        };
        let lane = &mut self.lanes[panel % 2];
        let mut products = lane.multiply.iter_mut();
        let Some((problem, product)) = products.find(|(of, _)| of.extents[2] == cols) else {
            return Ok(());
        };
        let b = match layout.b.grid().rows {
            1 => b.part().as_view(),
            _ => lane.panel.view(..inner * cols),
        };
        let (stream, c) = match panels.len() {
            1 => (None, c.part_mut()),
            _ => (Some(&lane.stream), lane.product.view_mut(..rows * cols)),
        };
        let inputs = [AnyView::from(a), AnyView::from(b)];
        let multiply = || product.enqueue(stream, problem, &inputs, c.into());
        let started = rank.enqueue("kernel", stream, multiply);
        started.map(drop).map_err(|e| rank.failed(e))
    }

    /// Copies a panel's product into C. The last copy goes through the device's own queue, so that
    /// waiting for the device waits for all of C.
    fn put(&mut self, rank: &Rank, c: &mut ShardedMatrix<T>, panel: usize) -> Result<()> {
        let (me, layout) = (rank.number(), &self.layout);
        if !layout.multiplies(me) {
            return Ok(());
        }
        let [rows, width] = layout.c().block(me).map(|range| range.len());
        let mut panels = layout.panels(me);
        let stream = (panel + 1 < panels.len()).then_some(&self.puts);
        let cols = panels.swap_remove(panel);
        let from = self.lanes[panel % 2].product.view(..rows * cols.len());
        let mut to = c.part_mut().into_view_mut(cols.start..);
        let shape = [rows, cols.len()];
        let put = || to.copy_rows_on(stream, width, from, cols.len(), shape);
        rank.enqueue("put", stream, put).map_err(|e| rank.failed(e))
    }
}

/// The product A·B, and waits. C has A's rows and B's columns.
///
/// # Errors
/// As for [`ShardedMatmul::new`], and failures of a device or of the communication.
#[track_caller]
pub fn matmul<T: Float>(
    rank: &mut Rank,
    a: &ShardedMatrix<T>,
    b: &ShardedMatrix<T>,
    options: &ShardedMatmulOptions,
) -> Result<ShardedMatrix<T>> {
    let mut product = ShardedMatmul::new(rank, a.blocks(), b.blocks(), options)?;
    let mut c = ShardedMatrix::zeros(rank, product.outputs())?;
    product.enqueue(rank, a, b, &mut c)?;
    rank.synchronize()?;
    Ok(c)
}
