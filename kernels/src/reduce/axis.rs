//! Reductions along one axis, of an array of outer × extent × inner elements, in one launch.
//!
//! output\[o · inner + i\] = the fold over k < extent of input\[(o · extent + k) · inner + i\]: the
//! sum, the mean, the minimum or the maximum, and the index of an extreme.
//!
//! One kernel serves every shape, in one of four [ways](way). The host chooses the way: chosen in
//! the kernel, it would delay the first load, for which small arrays wait.
//! - `runs`: a line is contiguous and has neighbouring threads; or it is a column of one matrix and
//!   has one thread.
//! - `tiles`: a block has some columns of some lines, and several threads for each.
//! - `several`: a thread has several short lines at a time, in two ways.
//!
//! Each load of a warp is coalesced, and [`IN_FLIGHT`] bytes of each thread are in flight. The
//! value of a missing row is in the registers before the load. Selected after the load, it kept a
//! predicate alive for each load, and ptxas issued the later loads only after the first had
//! arrived.
//!
//! Sums are [added in higher precision](super::addend): neighbours of a group first, so that a
//! thread's share of n elements is a chain of n / 16 additions for `f32`. Of equal extremes the
//! first wins, and of NaNs the first.

use cuda_std::prelude::*;

use super::{Addend, Extreme, Sum};
use crate::here::zero_here;

mod along;
mod runs;
mod several;
mod tiles;

pub use along::Along;

/// The most threads of a block.
pub const THREADS: u32 = 256;

/// Bytes that each thread has in flight.
pub const IN_FLIGHT: usize = 64;

/// Short lines that a thread folds side by side, where a block has several tiles.
pub const ABREAST: usize = 4;

/// The longest such lines, of 4-byte and of 8-byte elements: three and two rounds of loads. With
/// four rounds it is faster to have all of one line in flight.
pub const SHORT: [usize; 2] = [6, 4];

/// Elements of each of these lines that are in flight.
pub const TOGETHER: usize = 2;

/// The longest lines of which a thread folds a pack of columns.
pub const PACKED: usize = 64;

/// Packs that the thread then has in flight, one per row.
pub const PACKS: usize = 4;

/// The most tiles if lines have several parts: each tile has a ticket.
pub const TICKETS: usize = 4096;

/// The most rows of a part.
pub const LONGEST: usize = 1 << 30;

/// The most threads of all lines that are [runs](way::RUNS): the kernel counts them in 32 bits.
pub const MOST: usize = 1 << 31;

/// How a block folds its lines.
pub mod way {
    /// Any lines.
    pub const TILES: usize = 0;
    /// Contiguous lines, or columns of one matrix with a thread each; in one part.
    pub const RUNS: usize = 1;
    /// Several short lines per thread.
    pub const SHORT: usize = 2;
    /// The same for packs of columns.
    pub const PACKS: usize = 3;
}

/// How blocks divide an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Columns of a block.
    pub cols: u32,
    /// Threads for each output of a block.
    pub rows: u32,
    /// Outer indices of a block.
    pub lines: u32,
    /// Rows of a part, all of them if there is one part.
    pub part: usize,
    /// Parts of each line.
    pub parts: usize,
}

impl Tiling {
    /// Whether a tiling with these values fits blocks of `block` threads and lines of `extent`
    /// elements.
    pub const fn fits(
        rows: usize,
        block: [u32; 3],
        extent: usize,
        part: usize,
        parts: usize,
    ) -> bool {
        let threads = block[0] as u64 * block[1] as u64;
        let is_part = 0 < part && part <= LONGEST && parts <= LONGEST;
        if block[2] != 1 || threads == 0 || threads > THREADS as u64 || rows == 0 || !is_part {
            return false;
        }
        // Several lines are told apart by a shift.
        let high = block[1] as usize;
        let divides = rows.is_power_of_two() && high.is_multiple_of(rows);
        let all = extent.div_ceil(part);
        (rows == high || divides) && parts == if all == 0 { 1 } else { all }
    }

    /// Whether lines can be folded in this [`way`], in packs of this many columns.
    pub const fn allows(
        way: usize,
        [outer, extent, inner]: [usize; 3],
        cols: u32,
        rows: usize,
        lanes: usize,
    ) -> bool {
        // Without columns there may be too many lines to loop over.
        let is_short = rows == 1 && extent <= PACKED && inner > 0;
        match way {
            way::TILES => true,
            way::RUNS => {
                (inner == 1 || outer == 1 && rows == 1)
                    && cols == 1
                    && rows.is_power_of_two()
                    && outer.saturating_mul(inner).saturating_mul(rows) <= MOST
            }
            way::SHORT => is_short,
            way::PACKS => is_short && inner.is_multiple_of(lanes),
            _ => false,
        }
    }

    /// Whether `len` results are one for each line of an array, or none.
    pub const fn has(len: usize, outer: usize, inner: usize) -> bool {
        match outer.checked_mul(inner) {
            Some(outputs) => len == 0 || len == outputs,
            None => false,
        }
    }

    /// Tiles of an array.
    pub const fn tiles(cols: u32, lines: u32, outer: usize, inner: usize) -> usize {
        if cols == 0 || lines == 0 {
            return 0;
        }
        inner
            .div_ceil(cols as usize)
            .saturating_mul(outer.div_ceil(lines as usize))
    }

    /// The number of 64-bit words for tickets and for the results of parts, of `each` bytes; none
    /// for one part.
    pub const fn own(each: usize, outputs: usize, parts: usize) -> usize {
        match parts {
            1 => 0,
            _ => {
                let all = outputs.saturating_mul(parts).saturating_mul(each / 8);
                all.saturating_add(TICKETS / 2)
            }
        }
    }
}

/// Folds an array along an axis.
///
/// # Parameters
/// - `input`: `outer · extent · inner` elements.
/// - `values`: the results, and `more`: sums before they are rounded, indices of extremes. Each has
///   `outer · inner` elements, or none.
/// - `own`: [`Tiling::own`] words: [`TICKETS`] tickets, 0 before and after, and the parts' results.
/// - `rows`, `part`, `parts`: the [`Tiling`]. If a block has several lines, `rows` is a power of
///   two.
/// - `way`: one of [`way`].
/// - `how`: see [`Along`]'s operations.
///
/// # Launch
/// Blocks of `cols` by `rows · lines` threads, at most [`THREADS`]. The grid strides over columns
/// along x, over parts along y, over lines along z.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_axis_{T}",
    max_threads = 256,
    min_blocks = 4,
    require(
        outer.checked_mul(extent).and_then(|rows| rows.checked_mul(inner)) == Some(input.len()),
        Tiling::has(values.len(), outer, inner),
        Tiling::has(more.len(), outer, inner),
        // Without results there may be too many lines to loop over.
        extent > 0 || outer.saturating_mul(inner) == values.len().max(more.len()),
        Tiling::fits(rows, [block.x, block.y, block.z], extent, part, parts),
        way == way::TILES || parts == 1,
        Tiling::allows(way, [outer, extent, inner], block.x, rows, crate::pack::lanes::<T>()),
        own.len() >= Tiling::own(size_of::<<O as Along>::Folded<T>>(), outer.saturating_mul(inner), parts),
        parts == 1
            || (1..=TICKETS).contains(&Tiling::tiles(block.x, block.y / rows as u32, outer, inner)),
        // Without a rule on the grid, blocks and threads count along x only.
        [grid.x, grid.y, grid.z] != [0; 3]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "an array with its extents, two results, the parts with their memory"
)]
pub fn fold_axis<T: Addend, O: Along>(
    input: &[T],
    mut values: Out<T>,
    mut more: Out<<O as Along>::More<T>>,
    mut own: Atomics<u64>,
    outer: usize,
    extent: usize,
    inner: usize,
    rows: usize,
    part: usize,
    parts: usize,
    way: usize,
    how: u64,
) {
    let (has_values, has_more) = (!values.is_empty(), !more.is_empty());
    let of = Fold::<T, O> {
        input: input.as_ptr(),
        values: has_values.then_some(values.as_mut_ptr()),
        more: has_more.then_some(more.as_mut_ptr()),
        tickets: own.as_mut_ptr().cast(),
        own: own.as_mut_ptr().wrapping_add(TICKETS / 2).cast(),
        outer,
        // The index of an extreme of one element is 0: nothing need be loaded.
        extent: match O::IS_FIRST_OF_ONE && extent == 1 && !has_values {
            true => 0,
            false => extent,
        },
        inner,
        rows: rows as u32,
        part,
        parts,
        how,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        let is_single = size_of::<T>() == 4;
        match (way, is_single) {
            (way::RUNS, true) => of.each_run::<{ IN_FLIGHT / 4 }, { IN_FLIGHT / 8 }>(),
            (way::RUNS, false) => of.each_run::<{ IN_FLIGHT / 8 }, { IN_FLIGHT / 16 }>(),
            (way::PACKS, true) => of.each_packed::<4>(),
            (way::PACKS, false) => of.each_packed::<2>(),
            (way::SHORT, _) => of.each_short(),
            (_, true) => of.each::<{ IN_FLIGHT / 4 }, { IN_FLIGHT / 8 }>(),
            (_, false) => of.each::<{ IN_FLIGHT / 8 }, { IN_FLIGHT / 16 }>(),
        }
    }
}

/// A fold, as in [`fold_axis`].
struct Fold<T: Addend, O: Along> {
    input: *const T,
    values: Option<*mut T>,
    more: Option<*mut O::More<T>>,
    own: *mut O::Folded<T>,
    tickets: *mut u32,
    outer: usize,
    extent: usize,
    inner: usize,
    rows: u32,
    part: usize,
    parts: usize,
    how: u64,
}

impl<T: Addend, O: Along> Fold<T, O> {
    /// Writes an output's results.
    ///
    /// # Safety
    /// The output exists, and no other thread writes it.
    #[inline(always)]
    unsafe fn finish(&self, output: usize, folded: O::Folded<T>) {
        // Keeps the compiler from computing a mean's factor before the loops.
        let how = self.how + zero_here() as u64;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(values) = self.values {
                (values.wrapping_add(output)).write(O::value::<T>(folded, how));
            }
            if let Some(more) = self.more {
                (more.wrapping_add(output)).write(O::more::<T>(folded));
            }
        }
    }
}
