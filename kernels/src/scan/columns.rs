//! Lines whose elements lie apart: blocks take tiles of neighbouring lines.
//!
//! A *strip* is [`Shape::lines`] neighbouring lines. A tile is the part of a strip that a block has
//! in registers: [`Shape::groups`] threads share a line's rows, [`rows`] adjacent ones each.
//! Adjacent threads have adjacent lines, so loads and stores are coalesced as far as lines are
//! adjacent; all loads of a thread are in flight together.
//!
//! - A thread scans its rows. Lanes of a warp that have the same line join by shuffles, and warps
//!   in shared memory: if a warp has several rows of each line, one total of each warp and line;
//!   else each thread's own.
//! - Lines of several tiles: tiles publish the totals of their lines, as [`tiles`](super::tiles)
//!   does, but a run is [`RUN`] tiles and a group [`RUN`] runs. All threads of a block load what its
//!   tile needs, and then each folds what its line needs, in order. So bits do not depend on what
//!   has been published when.
//! - Tickets give tiles in an order in which each waits for earlier ones only, whose blocks run.
//!   All first tiles come before all second ones: what a tile needs has mostly been published.
//! - A round's first barrier orders totals before the reads of other threads. Of lines of several
//!   tiles, another one orders what was loaded of other tiles, and the next ticket, before their
//!   reads; a run's last tile has one more before it, so that its total is published before it
//!   waits for other runs. The last barrier orders all these reads before the next round's writes.

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_block_uniform;
use cuda_std::unroll::unrolled;
use cuda_std::warp::warp_shuffle_up;

use super::words::{Loaded, Tickets, Words, words};
use super::{Lines, THREADS};
use crate::here::{thread_here, zero_here};
use crate::number::Scalar;
use crate::reduce::Op;

const ALL: u32 = u32::MAX;
/// Tiles of a run, and runs of a group.
const RUN: usize = 16;
/// Values that a thread loads of other tiles, at most, for a run and for a group.
const LOADS: usize = 2;
/// Bytes of a line of memory.
const BYTES: usize = 128;
/// Bytes that each thread has in flight.
const IN_FLIGHT: usize = 64;
/// Rows of a thread.
pub(super) const fn rows<T>() -> usize {
    IN_FLIGHT / size_of::<T>()
}

/// How a block's threads share a tile.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Lines of a tile.
    lines: usize,
    /// Threads of a line.
    groups: usize,
    /// Tiles of a line.
    pub(super) each: usize,
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// A divisor that is not 0, which the compiler does not see.
const fn divisor(of: usize) -> usize {
    if of == 0 { 1 } else { of }
}

impl Shape {
    /// Tiles of long lines are as narrow as a line of memory, or as the lines that are adjacent.
    pub(super) const fn of<T>(extent: usize, inner: usize) -> Self {
        let threads = THREADS as usize;
        let narrowest = divisor(least(inner, BYTES / size_of::<T>()));
        let most = divisor(threads / narrowest);
        let needed = extent.div_ceil(rows::<T>());
        let (lines, groups, each) = match needed {
            0 => (threads, 1, 1),
            _ if needed < most => (threads / divisor(needed), needed, 1),
            _ => (narrowest, most, needed.div_ceil(most)),
        };
        Self {
            lines,
            groups,
            each,
        }
    }

    /// Strips of an array of `lines` lines.
    const fn strips(self, lines: usize) -> usize {
        lines.div_ceil(divisor(self.lines))
    }

    /// Tiles of an array of `lines` lines.
    pub(super) const fn tiles(self, lines: usize) -> usize {
        self.strips(lines).saturating_mul(self.each)
    }

    /// Values that the tiles of a line publish: a total for each tile and each whole run, and the
    /// prefix after each whole group.
    const fn published(self) -> usize {
        self.each + self.each / RUN + self.each / (RUN * RUN)
    }

    /// Words of the values that are published for `lines` lines.
    pub(super) const fn words<T>(self, lines: usize) -> usize {
        self.strips(lines) * self.published() * self.lines * words::<T>()
    }

    /// The most additions between an element and a sum of a line.
    pub(super) const fn additions<T>(self, extent: usize) -> usize {
        // A thread's rows, the lanes of a warp, the warps; the tiles and runs of other blocks, the
        // groups; and what puts these together.
        let of_tile = least(extent, rows::<T>()) + 5 + THREADS as usize / 32;
        let of_others = least(self.each, RUN) + least(self.each / RUN, RUN);
        of_tile + of_others + self.each / (RUN * RUN) + 5
    }
}

/// # Safety
/// The output has as many elements as the input; `before` and `after` have one for each line, or
/// none. `state` has a word and [`Shape::words`] if lines have several tiles, which are zeros or
/// what the last launch left. Only this launch uses the outputs and the state. All threads of the
/// launch call it: one row of blocks of [`THREADS`] along x. 32 bits count its tiles and blocks.
#[inline(always)]
pub(super) unsafe fn scan<T: Scalar, O: Op, const ROWS: usize>(
    of: Lines<'_, T>,
    state: *mut u64,
    state_words: usize,
) {
    const { assert!(ROWS == rows::<T>()) };
    const { assert!((RUN - 1) * BYTES / size_of::<T>() <= LOADS * THREADS as usize) };
    let shape = Shape::of::<T>(of.extent, of.inner);
    let all_lines = of.len();
    let (strips, each) = (shape.strips(all_lines) as u32, shape.each as u32);
    let (lines, groups) = ((shape.lines as u32).max(1), shape.groups as u32);
    let tiles = strips * each;
    let blocks = thread::grid_dim_x();
    let takes = each > 1;
    // Each line has a total for each warp, or for each thread.
    let shares_warps = lines < 32;
    // The total of line c and part p, at p · lines + c.
    let totals = shared_array![u64; THREADS as usize].cast::<T>();
    // Of line c: the totals of the run's tiles, of the group's runs, and the group's prefix.
    let others = shared_array![u64; (2 * RUN + 1) * BYTES / 8].cast::<T>();
    // The next ticket, and the launch's tag.
    let next = shared_array![u32; 2];

    let tickets = Tickets {
        state,
        len: state_words,
        written: shape.words::<T>(all_lines),
        total: tiles + blocks,
    };
    // SAFETY: the caller's promise, and the barriers in the file's header, give all that the
    // functions below require. All threads read the same ticket.
    unsafe {
        let mut ticket = thread::block_idx_x();
        let mut tag = 0;
        if takes {
            if thread::thread_idx_x() == 0 {
                let (first, launch) = tickets.taken(tickets.take());
                next.write(first);
                next.add(1).write(launch);
            }
            // Orders the first ticket before its reads. They end before the first round's second
            // barrier, before which no other ticket is written.
            thread::sync_threads();
            ticket = assume_block_uniform(next.read());
            tag = next.add(1).read();
        }
        let words = Words::new(state, tag);
        while ticket < tiles {
            // Computed anew for each tile: most blocks have few, and registers are for elements.
            let thread = thread_here();
            let (group, column, lane) = (thread / lines, thread % lines, thread % 32);
            let (part, parts, has_total) = match shares_warps {
                true => (thread / 32, THREADS / 32, lane >= 32 - lines),
                false => (group, groups, group < groups),
            };
            let publishes = has_total && part == parts - 1;
            // There is a tile, so neither is 0; `max` tells the compiler.
            let (strips, inner) = (strips.max(1), of.inner.max(1));
            let (number, strip) = (ticket / strips, ticket % strips);
            let line = strip as usize * shape.lines + column as usize;
            let (outer, along) = (line / inner, line % inner);
            let row = (number as usize * shape.groups + group as usize) * ROWS;
            let has = line < all_lines && group < groups && row < of.extent;
            let left = if has { least(of.extent - row, ROWS) } else { 0 } as u32;
            let at = (outer * of.extent + row) * of.inner + along;

            // Unconditional loads, of the last row again where there is none: with branches, some
            // would be issued only after others had arrived.
            let mut values = [O::nothing::<T>(); ROWS];
            let mut from = of
                .input
                .as_ptr()
                .wrapping_add(if left > 0 { at } else { 0 });
            unrolled::<ROWS>(|k| {
                values[k] = from.read();
                from = from.wrapping_add(if k as u32 + 1 < left { of.inner } else { 0 });
            });
            let mut total = O::nothing();
            unrolled::<ROWS>(|k| {
                let value = O::turned(values[k], of.flip);
                let value = if (k as u32) < left {
                    value
                } else {
                    O::nothing()
                };
                total = O::apply(total, value);
                values[k] = total;
            });

            // The total of the thread's rows and those before them in its part; and without its own.
            let mut before = O::nothing();
            if shares_warps {
                let mut distance = lines;
                while distance < 32 {
                    let (below, _) = warp_shuffle_up(ALL, total, distance, 32);
                    if lane >= distance {
                        total = O::apply(below, total);
                    }
                    distance *= 2;
                }
                let (below, _) = warp_shuffle_up(ALL, total, lines, 32);
                if lane >= lines {
                    before = below;
                }
            }
            if has_total {
                totals.add((part * lines + column) as usize).write(total);
            }
            let mut taken = 0;
            if takes && thread == 0 {
                taken = tickets.take();
            }
            // Orders the totals before their reads.
            thread::sync_threads();
            let earlier = fold::<T, O>(totals, column, lines, part);
            let own = O::apply(earlier, total);

            let mut start = of.start::<O>(line);
            if takes {
                let place = Place::of(shape, strip, number);
                if publishes {
                    words.put(place.tile + column as usize, own);
                }
                load_others::<T, O, 0, LOADS>(words, &place, lines, others);
                if place.in_run as usize == RUN - 1 {
                    // Orders what was loaded before its reads. The run's total is published before
                    // the block waits for those of other runs.
                    thread::sync_threads();
                    if publishes {
                        let of_run = fold::<T, O>(others, column, lines, place.in_run);
                        words.put(place.run + column as usize, O::apply(of_run, own));
                    }
                }
                load_others::<T, O, LOADS, { LOADS + 1 }>(words, &place, lines, others);
                if thread == 0 {
                    next.write(tickets.taken(taken).0);
                }
                // Orders what was loaded and the ticket before their reads.
                thread::sync_threads();
                let of_run = fold::<T, O>(others, column, lines, place.in_run);
                let of_runs = others.wrapping_add(RUN * shape.lines);
                let of_group = fold::<T, O>(of_runs, column, lines, place.in_group);
                if place.has_group {
                    start = others.add(2 * RUN * shape.lines + column as usize).read();
                }
                start = O::apply(O::apply(start, of_group), of_run);
                let ends_group =
                    place.in_run as usize == RUN - 1 && place.in_group as usize == RUN - 1;
                if publishes && ends_group {
                    words.put(place.group + column as usize, O::apply(start, own));
                }
                ticket = assume_block_uniform(next.read());
            } else {
                ticket += blocks;
            }
            if publishes && of.has_after && number + 1 == each && line < all_lines {
                of.after
                    .add(line)
                    .write(O::turned(O::apply(start, own), of.flip));
            }

            let before = O::apply(O::apply(start, earlier), before);
            let mut to = of.output.wrapping_add(at);
            // Else a predicate for each row would be kept.
            let left = left + zero_here() as u32;
            let mut last = O::nothing();
            unrolled::<ROWS>(|k| {
                let value = if of.exclusive { last } else { values[k] };
                last = values[k];
                if (k as u32) < left {
                    to.write(O::turned(O::apply(before, value), of.flip));
                }
                to = to.wrapping_add(of.inner);
            });
            // Orders this round's reads of shared memory before the next one's writes.
            thread::sync_threads();
        }
    }
}

/// What a tile has to do with other tiles of its strip. Indices are of the value of the strip's
/// first line.
struct Place {
    /// Its number in its run, its run's number in its group.
    in_run: u32,
    in_group: u32,
    /// Whether its group has a prefix: it is not the first.
    has_group: bool,
    /// Indices of its total, and of its run's, if it is the run's last tile, and of the prefix after
    /// its group, if it is the group's last.
    tile: usize,
    run: usize,
    group: usize,
}

impl Place {
    #[inline(always)]
    fn of(shape: Shape, strip: u32, number: u32) -> Self {
        let number = number as usize;
        let first = strip as usize * shape.published();
        let runs = first + shape.each;
        let all_groups = runs + shape.each / RUN;
        let group = number / (RUN * RUN);
        Self {
            in_run: (number % RUN) as u32,
            in_group: (number / RUN % RUN) as u32,
            has_group: group > 0,
            tile: (first + number) * shape.lines,
            run: (runs + number / RUN) * shape.lines,
            group: (all_groups + group) * shape.lines,
        }
    }
}

/// The fold of the first `count` values of a line, of parts, other tiles or runs.
///
/// # Safety
/// The values have been written.
#[inline(always)]
unsafe fn fold<T: Scalar, O: Op>(others: *const T, column: u32, lines: u32, count: u32) -> T {
    let mut value = O::nothing();
    let mut n = 0;
    // An opaque end: LLVM would unroll this, and there are four of it.
    while n < count + zero_here() as u32 {
        // SAFETY: the caller's promise.
        value = O::apply(value, unsafe {
            others.add((n * lines + column) as usize).read()
        });
        n += 1;
    }
    value
}

/// Loads N of the thread's values from the given one on: first those of the totals of the earlier
/// tiles of a tile's run, then of the earlier runs of its group, then its group's prefix. Waits
/// until they have been published.
///
/// # Safety
/// All threads of the block call it. The state has the tile's places. No other thread uses `others`
/// until a barrier.
#[inline(always)]
unsafe fn load_others<T: Scalar, O: Op, const FROM: usize, const N: usize>(
    words: Words,
    place: &Place,
    lines: u32,
    others: *mut T,
) {
    let thread = thread_here();
    // The n-th value of this thread: where it is published, where it goes, and whether there is one.
    let value = |n: usize| {
        let i = (n % LOADS) as u32 * THREADS + thread;
        let (first, to, count) = match n / LOADS {
            0 => (
                place.tile - (place.in_run * lines) as usize,
                0,
                place.in_run,
            ),
            1 => (
                place.run - (place.in_group * lines) as usize,
                RUN,
                place.in_group,
            ),
            _ => (
                place.group.wrapping_sub(lines as usize),
                2 * RUN,
                place.has_group.into(),
            ),
        };
        (
            first.wrapping_add(i as usize),
            to as u32 * lines + i,
            i < count * lines,
        )
    };
    // SAFETY: the caller's promise: values that earlier tiles publish.
    unsafe {
        let mut loaded: [Loaded; N] = from_fn(|_| words.known(O::nothing::<T>()));
        unrolled::<N>(|n| {
            let (from, _, has) = value(FROM + n);
            if has {
                loaded[n] = words.load::<T>(from);
            }
        });
        unrolled::<N>(|n| {
            let (from, to, has) = value(FROM + n);
            if has {
                let (mut found, mut is_there) = words.value::<T>(loaded[n]);
                while !is_there {
                    (found, is_there) = words.value(words.load::<T>(from));
                }
                others.add(to as usize).write(found);
            }
        });
    }
}
