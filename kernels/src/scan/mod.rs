//! Scans along one axis: running sums, minima or maxima, in one pass over memory.
//!
//! The array has outer × extent × inner elements; the `extent` elements that are `inner` apart are
//! a *line*. Each line is scanned for itself. How depends on `extent` and `inner` alone
//! ([`Way::of`]), and so do the bits of the result: they are the same on any grid, any device and
//! in every run, and whether lines are scanned together or in separate launches.
//!
//! | way | lines | who scans a line |
//! | --- | --- | --- |
//! | [`tiles`](Way::Tiles) | long runs of memory | blocks, a tile each, that publish sums to each other |
//! | [`rows`](Way::Rows) | runs of at most [`ROW`] elements | the lanes of a warp or some of them |
//! | [`walks`](Way::Walks) | elements apart: at most [`SHORT`], or [`WIDE`] lines beside each other | one thread |
//! | [`columns`](Way::Columns) | elements apart: all others | threads of a block, of several for long ones |
//!
//! [`scan`] knows all ways. Where each tile has a block, [`once::scan_once`] is faster, with the
//! same bits.
//!
//! # A line in pieces
//!
//! A line may be scanned in several launches, one after another or on several devices, with the
//! same bits as in one: pieces begin at multiples of [`group`] elements, and all but the first have
//! `before`, which is what `after` of the piece before was. A launch without an output computes the
//! totals of a line's groups instead, at a sum's rate; `before` of a piece is then the fold of all
//! totals before it, in order and in the element's type.
//!
//! # The error of sums
//!
//! Integers wrap. A float sum is off by at most γₕ·Σ|x| of the elements up to it, with γₕ = h·u /
//! (1 − h·u), where u is half the distance from 1 to the next number and h the number of additions
//! on the longest path from an element to the sum (Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 2nd ed., section 4.2): [`additions`]. Of a long line these are 31 at most, and one
//! for each group of 16 MiB before the element; NumPy's, one after the other, as many as elements.

mod columns;
pub mod once;
mod rows;
mod tile;
mod tiles;
mod totals;
mod walks;
mod words;

use core::hint::assert_unchecked;

use cuda_std::prelude::*;

use crate::number::Scalar;
use crate::pack::{BYTES, lanes};
use crate::reduce::{Extreme, Op, Sum};
use columns::Shape;
use words::words;

/// Warps of a block that move elements; one more looks back.
const WARPS: usize = 8;
/// Threads of a block.
pub const THREADS: u32 = 32 * (WARPS as u32 + 1);
/// Elements of a line that one warp scans, at most.
pub const ROW: usize = 512;
/// Adjacent lines from which on each has one thread: 128 × 128 × 10,368 of f64 takes 0.67 ms by them,
/// 1.25 by columns.
pub const WIDE: usize = 1 << 13;
/// Elements of a line up to which it has one thread.
pub const SHORT: usize = 32;
/// Packs of a tile for each thread.
const PACKS: usize = 4;
/// Tiles of a run, and runs of a group: one for each lane of the warp that looks back.
const RUN: usize = 32;
const GROUP: usize = RUN * RUN;
/// Rounds from a tile's sum to its stores.
const DELAY: usize = 3;
/// Tiles of a block whose copies are in flight while another one is summed. One is enough, because
/// a multiprocessor then has room for three blocks (docs/log/2026-11-26-scans.md).
const FETCH: usize = 1;
/// Tickets that a block takes before it scans.
const AHEAD: usize = FETCH + 1;
/// Tiles of a block in shared memory.
const SLOTS: usize = FETCH + DELAY;
/// Bytes of dynamic shared memory of [`Way::Tiles`]; the others need none.
pub const RING_BYTES: u32 = (SLOTS * PACKS * WARPS * 32 * BYTES) as u32;

/// Bytes of dynamic shared memory of [`once::scan_once`].
pub const TILE_BYTES: u32 = (PACKS * WARPS * 32 * BYTES) as u32;

/// Elements of a tile: 16 KiB.
pub const fn tile<T>() -> usize {
    PACKS * WARPS * 32 * lanes::<T>()
}

/// Elements of a group: 16 MiB. Pieces of a line begin at multiples of it.
pub const fn group<T>() -> usize {
    GROUP * tile::<T>()
}

/// Groups of a line.
pub const fn groups<T>(extent: usize) -> usize {
    extent.div_ceil(group::<T>())
}

/// The most additions between an element and a sum of a line of `extent` elements.
pub const fn additions<T>(extent: usize, inner: usize) -> usize {
    match Way::of(extent, inner, false) {
        Way::Columns => Shape::of::<T>(extent, inner).additions::<T>(extent),
        Way::Walks => extent,
        // Five rounds of shuffles, and the steps of 32 elements.
        Way::Rows => 5 + extent.div_ceil(32),
        // Within a pack, five rounds of shuffles, the packs of a lane; the warps, the tiles of a
        // run, the runs of a group, each by a tree; then one addition for each group.
        Way::Tiles => lanes::<T>() + 5 + PACKS + 3 + 5 + 5 + 5 + groups::<T>(extent),
    }
}

/// Who scans a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Blocks.
    Tiles,
    /// The lanes of a warp.
    Rows,
    /// Threads that have several rows of neighbouring lines, in one block or several.
    Columns,
    /// One thread.
    Walks,
}

impl Way {
    /// The way for lines of `extent` elements that are `inner` apart. A `piece` has a `before`, or
    /// no output.
    pub const fn of(extent: usize, inner: usize, piece: bool) -> Self {
        match (inner, extent) {
            (1, ..=ROW) if !piece => Self::Rows,
            (1, _) => Self::Tiles,
            (WIDE.., _) | (_, ..=SHORT) => Self::Walks,
            _ => Self::Columns,
        }
    }
}

/// The number of blocks that have work, at least 1; more do no harm. With [`Way::Tiles`], and where
/// there is a state, launch at most as many as can be resident.
pub const fn blocks<T>(way: Way, len: usize, extent: usize, inner: usize) -> usize {
    let lines = match extent {
        0 => 0,
        _ => len / extent,
    };
    let blocks = match way {
        Way::Tiles => lines * extent.div_ceil(tile::<T>()),
        Way::Rows => rows::turns(lines, extent).div_ceil(WARPS + 1),
        Way::Columns => Shape::of::<T>(extent, inner).tiles(lines),
        Way::Walks => lines.div_ceil(THREADS as usize),
    };
    match blocks {
        0 => 1,
        _ => blocks,
    }
}

/// The number of words of the state for an input of `len` elements. They are zeros before the first
/// launch. One state may serve any number of successive launches, of any kind and of smaller sizes.
pub const fn state_len<T>(way: Way, len: usize, extent: usize, inner: usize) -> usize {
    let shape = Shape::of::<T>(extent, inner);
    match way {
        Way::Columns if shape.each > 1 => 1 + shape.words::<T>(len / extent),
        Way::Tiles if extent > tile::<T>() => {
            1 + len / extent * published(extent.div_ceil(tile::<T>())) * words::<T>()
        }
        _ => 0,
    }
}

/// The number of values that the tiles of a line publish: a total for each tile and each whole run,
/// and for each whole group the prefix of the next one.
const fn published(tiles: usize) -> usize {
    tiles + tiles / RUN + tiles / GROUP
}

/// Whether lines start with a given prefix, or only their totals are wanted.
const fn is_piece(input: usize, output: usize, before: usize) -> bool {
    before > 0 || output < input
}

/// Whether the array is whole lines.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "a rule for the host")
)]
const fn whole_lines(len: usize, extent: usize, inner: usize) -> bool {
    match extent.checked_mul(inner) {
        Some(0) | None => false,
        Some(part) => len.is_multiple_of(part),
    }
}

/// Whether [`once::scan_once`] can scan `len` elements with `blocks` blocks: one for each tile, of
/// lines shorter than a group.
pub const fn in_one_step<T>(len: usize, extent: usize, blocks: u32) -> bool {
    extent.div_ceil(tile::<T>()) < GROUP
        && self::blocks::<T>(Way::Tiles, len, extent, 1) == blocks as usize
}

/// Whether the tickets can be counted in 32 bits.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "a rule for the host")
)]
const fn countable<T>(way: Way, len: usize, extent: usize, inner: usize, blocks: u32) -> bool {
    let tiles = match way {
        Way::Rows | Way::Walks => 0,
        Way::Tiles | Way::Columns => self::blocks::<T>(way, len, extent, inner),
    };
    tiles <= 1 << 30 && blocks <= 1 << 28
}

/// Whether a state of `words` words is long enough, and short enough for 32-bit indices.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "a rule for the host")
)]
const fn is_state(words: usize, needed: usize) -> bool {
    words >= needed && words <= u32::MAX as usize
}

/// The arguments that all ways use.
#[derive(Clone, Copy)]
struct Lines<'a, T> {
    input: &'a [T],
    /// Null, or room for as many elements as the input has.
    output: *mut T,
    before: &'a [T],
    after: *mut T,
    /// Whether `after` has an element for each line.
    has_after: bool,
    extent: usize,
    inner: usize,
    flip: u64,
    exclusive: bool,
}

impl<T: Scalar> Lines<'_, T> {
    /// The prefix with which line `line` starts.
    #[inline(always)]
    fn start<O: Op>(&self, line: usize) -> T {
        match self.before.get(line) {
            Some(&before) => O::turned(before, self.flip),
            None if self.exclusive => O::identity(),
            None => O::nothing(),
        }
    }

    /// The number of lines. If there is one, without the division, for which small inputs would
    /// wait before they load.
    #[inline(always)]
    fn len(&self) -> usize {
        match self.input.len() == self.extent {
            true => 1,
            false => self.input.len() / self.extent,
        }
    }
}

/// output\[i\] = the sum, minimum or maximum of the elements of i's line up to element i. In an
/// exclusive scan, of the elements before i; the first result is then 0, or the type's largest or
/// smallest number.
///
/// Sums of `u32` and `u64` are those of `i32` and `i64`. `flip` is
/// [`Order::flip`](crate::reduce::Order::flip) for [`Extreme`], and any number for [`Sum`].
///
/// # Parameters
/// - `input`: whole lines, of `extent` elements that are `inner` apart. `output`: as many elements,
///   or none for totals.
/// - `state`: of [`state_len`] or more, below 2³². Zeros before the first launch that it is used in,
///   and then as the last one left it: otherwise results are wrong, or the launch does not end.
/// - `before`: the prefix of each line, or empty. `after`: receives the prefix for what follows
///   each line, or is empty; without an output, the totals of all [`groups`], line by line.
/// - `exclusive`: 0 or 1.
///
/// # Launch
/// One-dimensional blocks of [`THREADS`], any grid; see [`blocks`]. [`Way::Tiles`] needs
/// [`RING_BYTES`] of dynamic shared memory.
#[kernel(
    instances((i32 | i64 | f32 | f64, Sum | Extreme)),
    name = "scan_{O}_{T}",
    max_threads = 288,
    min_blocks = 3,
    require(
        whole_lines(input.len(), extent, inner),
        output.is_empty() || output.len() == input.len(),
        before.is_empty() || before.len() == input.len() / extent,
        output.is_empty() || after.is_empty() || after.len() == input.len() / extent,
        !output.is_empty() || input.is_empty() || inner == 1,
        !output.is_empty() || after.len() == input.len() / extent * groups::<T>(extent),
        is_state(
            state.len(),
            state_len::<T>(
                Way::of(extent, inner, is_piece(input.len(), output.len(), before.len())),
                input.len(),
                extent,
                inner
            )
        ),
        countable::<T>(
            Way::of(extent, inner, is_piece(input.len(), output.len(), before.len())),
            input.len(),
            extent,
            inner,
            grid.x
        ),
        Way::of(extent, inner, is_piece(input.len(), output.len(), before.len())) != Way::Tiles
            || shared_bytes >= RING_BYTES,
        exclusive <= 1,
        block.x == THREADS,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "an input, four arrays for the rest, and the shape"
)]
pub fn scan<T: Scalar, O: Op>(
    input: &[T],
    mut output: Out<T>,
    mut state: Atomics<u64>,
    before: &[T],
    mut after: Out<T>,
    extent: usize,
    inner: usize,
    flip: u64,
    exclusive: usize,
) {
    let of = Lines {
        input,
        output: if output.is_empty() {
            core::ptr::null_mut()
        } else {
            output.as_mut_ptr()
        },
        before,
        has_after: !after.is_empty(),
        after: after.as_mut_ptr(),
        extent,
        inner,
        flip,
        exclusive: exclusive != 0,
    };
    if input.is_empty() {
        return;
    }
    let is_piece = is_piece(input.len(), output.len(), before.len());
    // SAFETY: `require` states the lengths, the block, and a grid and tiles that 32 bits count.
    unsafe {
        // Without this, the divisions would have a path for 0.
        assert_unchecked(extent > 0 && inner > 0);
        match Way::of(extent, inner, is_piece) {
            Way::Tiles if of.output.is_null() => {
                totals::totals::<T, O, { lanes::<T>() }>(of, state.as_mut_ptr(), state.len())
            }
            Way::Tiles => {
                tiles::scan::<T, O, { lanes::<T>() }>(of, state.as_mut_ptr(), state.len())
            }
            Way::Rows => rows::scan::<T, O>(of),
            Way::Walks => walks::scan::<T, O>(of),
            Way::Columns => {
                columns::scan::<T, O, { columns::rows::<T>() }>(of, state.as_mut_ptr(), state.len())
            }
        }
    }
}
