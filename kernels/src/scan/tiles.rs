//! Long lines: one pass over memory by blocks that publish what their tiles come to.
//!
//! A tile's results need what comes before it. It is read from memory in fixed places and combined
//! in a fixed order, whatever has been published when: tiles form *runs* of 32, runs *groups* of 32.
//! A tile publishes its own total, the last tile of a run the run's, the last tile of a group what
//! comes before the next one. So each lane of a warp reads at most one tile's total of this run and
//! one run's of this group, and the warp what comes before the group: three loads at once, five
//! rounds of shuffles. Looking back until some prefix is found (Merrill and Garland, 2016) reads as
//! much, but the order of additions, and so the bits of float sums, depend on who was first.
//!
//! - Tiles are taken by [tickets](super::words), so that a tile waits only for tiles of blocks that
//!   run: the launch ends however few of its blocks are resident. Of the waiting tiles the first one
//!   waits for nothing.
//! - Three tiles of a block are under way. While tile i waits for those before it, with its elements
//!   in registers, tile i + 1 has been summed and published, and tiles i + 2 and i + 3 are copied by
//!   `cp.async`. So what a tile waits for was published about one round before.
//! - Loads: a thread copies to shared memory, reads and stores the same packs: adjacent threads
//!   adjacent packs (coalesced, no bank conflicts). Nobody else reads its slots, and no barrier is
//!   needed for them: it waits for its own copies.
//! - A warp has 512 adjacent elements of 4 bytes, as four rows of 32 packs. It scans the rows'
//!   packs by shuffles.
//! - The first barrier of a round orders the warps' totals before warp 0's reads; the second what warp
//!   0 writes (what comes before each warp's elements, the next ticket) before all reads of it, and
//!   its reads of the totals before the next round's writes. The next first barrier orders all
//!   reads of what warp 0 wrote before its next writes.

use core::array::from_fn;

use cuda_std::async_copy::{cp_async_ca, cp_async_cg, cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_vote_all};

use super::words::{Tickets, Words};
use super::{
    AHEAD, Element, GROUP, Lines, Op, PACKS, RUN, THREADS, Way, groups, published, state_len,
};
use crate::pack::{BYTES, Pack};

/// Tiles that are copied at once.
const SLOTS: usize = 2;
const WARPS: usize = THREADS as usize / 32;
const ALL: u32 = u32::MAX;
/// No tile: larger than every tile's number.
const NONE: u32 = u32::MAX;

/// The elements of a thread.
type Packs<T, const LANES: usize> = [[T; LANES]; PACKS];

/// The tiles of a launch.
#[derive(Clone, Copy)]
struct Tiles<'a, T> {
    of: Lines<'a, T>,
    /// Tiles of a line, and of all.
    each: u32,
    all: u32,
}

/// One tile.
#[derive(Clone, Copy)]
struct Tile {
    line: usize,
    /// Its number in the line.
    number: usize,
    /// Its first element, and how many it has.
    start: usize,
    len: usize,
}

impl<T: Element> Tiles<'_, T> {
    #[inline(always)]
    fn tile(&self, tile: u32) -> Tile {
        let (line, number) = ((tile / self.each) as usize, (tile % self.each) as usize);
        let (from, size) = (number * super::tile::<T>(), super::tile::<T>());
        let left = self.of.extent - from;
        Tile {
            line,
            number,
            start: line * self.of.extent + from,
            len: if left < size { left } else { size },
        }
    }
}

/// # Safety
/// The output has as many elements as the input, or is null; `before` has one for each line or
/// none; `after` too if there is an output, and one for each group of each line otherwise. `state`
/// has [`state_len`] words, if that is not 0, which are zeros or what the last launch left.
/// Nobody but this launch uses the outputs and the state. All threads of the launch call it: one row
/// of blocks of [`THREADS`] along x. 32 bits count its tiles and four times its blocks.
#[inline(always)]
pub(super) unsafe fn scan<T: Element, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    state: *mut u64,
    state_words: usize,
) {
    const { assert!(size_of::<T>() * LANES == BYTES) };
    let each = of.extent.div_ceil(super::tile::<T>()) as u32;
    let tiles = Tiles {
        of,
        each,
        all: of.len() as u32 * each,
    };
    let slots =
        shared_array![Pack<u32, 4>; SLOTS * PACKS * THREADS as usize].cast::<Pack<T, LANES>>();
    let totals = shared_array![u64; WARPS].cast::<T>();
    let befores = shared_array![u64; WARPS].cast::<T>();
    // Those of the next tiles, and the launch's tag.
    let board = shared_array![u32; AHEAD + 1];

    let thread = thread::thread_idx_x();
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread % 32;
    let blocks = thread::grid_dim_x();

    // Where blocks have one tile each, a block takes one ticket.
    let several = tiles.all > blocks;
    // Tiles that wait for no other are dealt in turn.
    let alone = each == 1;
    let tickets = Tickets {
        state,
        len: state_words,
        written: state_len::<T>(Way::Tiles, of.input.len(), of.extent).saturating_sub(1),
        total: if several {
            tiles.all + AHEAD as u32 * blocks
        } else {
            blocks
        },
    };
    // SAFETY: all that the functions below ask for is promised by the caller or holds by the
    // barriers in the file's header. The board's numbers are the same for all threads.
    unsafe {
        if thread == 0 {
            let mut tag = 0;
            unrolled::<AHEAD>(|i| {
                let mut next = NONE;
                if alone {
                    next = thread::block_idx_x() + i as u32 * blocks;
                } else if i == 0 || several {
                    (next, tag) = tickets.take();
                }
                board.add(i).write(next);
            });
            board.add(AHEAD).write(tag);
        }
        thread::sync_threads();
        let of_board = |i: usize| assume_block_uniform(board.add(i).read());
        let mut next: [u32; AHEAD] = from_fn(of_board);
        let words = Words::new(state, of_board(AHEAD));
        let mut dealt = next[AHEAD - 1];

        let at = warp * 32 * PACKS + lane as usize;
        let slot = |slot: usize| slots.add(slot * PACKS * THREADS as usize + at);
        copy::<T, LANES>(&tiles, next[0], slot(0), at);
        copy::<T, LANES>(&tiles, next[1], slot(1), at);

        // The tile whose elements wait, and those of it that warp 0 knows.
        let mut waiting = NONE;
        let mut elements: Packs<T, LANES> = [[O::identity(); LANES]; PACKS];
        let mut before_warp = O::identity();
        let mut own = O::identity();
        let mut filled = 0;
        while next[0] < tiles.all || waiting < tiles.all {
            let tile = next[0];
            let mut scanned: Packs<T, LANES> = [[O::identity(); LANES]; PACKS];
            if tile < tiles.all {
                cp_async_wait_group::<{ SLOTS as u32 - 1 }>();
                let total;
                (scanned, total) = scan_warp::<T, O, LANES>(&tiles, tile, slot(filled), at, lane);
                if lane == 31 {
                    totals.add(warp).write(total);
                }
                copy::<T, LANES>(&tiles, next[2], slot(filled), at);
            }
            thread::sync_threads();
            if warp == 0 {
                let mut ticket = NONE;
                if tile < tiles.all && several && lane == 0 {
                    if alone {
                        dealt = dealt.saturating_add(blocks);
                        ticket = dealt;
                    } else {
                        (ticket, _) = tickets.take();
                    }
                }
                let (mut before_next, mut own_next) = (O::identity(), O::identity());
                if tile < tiles.all {
                    (before_next, own_next) = join_warps::<T, O>(totals, lane);
                    if !alone && lane == 0 {
                        let Tile { line, number, .. } = tiles.tile(tile);
                        let first = line * published(each as usize);
                        words.put(first + number, own_next);
                    }
                }
                if waiting < tiles.all {
                    let before = look_back::<T, O>(&tiles, waiting, words, own, lane);
                    if (lane as usize) < WARPS {
                        let before = O::apply(before, before_warp);
                        befores.add(lane as usize).write(before);
                    }
                }
                if lane == 0 {
                    board.write(ticket);
                }
                (before_warp, own) = (before_next, own_next);
            }
            thread::sync_threads();
            if waiting < tiles.all && !of.output.is_null() {
                let before = befores.add(warp).read();
                store::<T, O, LANES>(&tiles, waiting, before, elements, at);
            }
            (waiting, elements) = (tile, scanned);
            next = [next[1], next[2], of_board(0)];
            filled ^= 1;
        }
    }
}

/// Starts to copy this thread's packs of a tile, as a group; no copy if there is no such tile.
///
/// # Safety
/// `slots` are this thread's, which it does not read before it has waited, nor writes.
#[inline(always)]
unsafe fn copy<T: Element, const LANES: usize>(
    tiles: &Tiles<'_, T>,
    tile: u32,
    slots: *mut Pack<T, LANES>,
    at: usize,
) {
    if tile < tiles.all {
        let Tile { start, len, .. } = tiles.tile(tile);
        let from = tiles.of.input.as_ptr().wrapping_add(start);
        let whole = len == super::tile::<T>() && from.addr().is_multiple_of(BYTES);
        unrolled::<PACKS>(|k| {
            let first = (at + k * 32) * LANES;
            let slot = slots.wrapping_add(k * 32);
            let from = from.wrapping_add(first);
            if whole {
                // SAFETY: a whole tile has all packs; they are aligned, as its first one.
                unsafe { cp_async_cg(slot, from.cast()) };
            } else {
                unrolled::<LANES>(|i| {
                    if first + i < len {
                        let slot = slot.cast::<T>().wrapping_add(i);
                        // SAFETY: an element of the tile.
                        unsafe { cp_async_ca(slot, from.wrapping_add(i)) };
                    }
                });
            }
        });
    }
    cp_async_commit_group();
}

/// Scans the warp's elements, as if nothing came before them: this thread's results, and the total
/// in all lanes.
///
/// # Safety
/// All lanes call it; this thread's copies of the tile to its slots have arrived.
#[inline(always)]
unsafe fn scan_warp<T: Element, O: Op, const LANES: usize>(
    tiles: &Tiles<'_, T>,
    tile: u32,
    slots: *const Pack<T, LANES>,
    at: usize,
    lane: u32,
) -> (Packs<T, LANES>, T) {
    let len = tiles.tile(tile).len;
    let mut values: Packs<T, LANES> = [[O::identity(); LANES]; PACKS];
    let turned = |element| O::turned(element, tiles.of.flip);
    unrolled::<PACKS>(|k| {
        let slot = slots.wrapping_add(k * 32);
        if len == super::tile::<T>() {
            // SAFETY: the copy has arrived.
            values[k] = unsafe { slot.read() }.0.map(turned);
        } else {
            unrolled::<LANES>(|i| {
                if (at + k * 32) * LANES + i < len {
                    // SAFETY: the copy has arrived.
                    values[k][i] = turned(unsafe { slot.cast::<T>().add(i).read() });
                }
            });
        }
        unrolled::<LANES>(|i| {
            if i > 0 {
                values[k][i] = O::apply(values[k][i - 1], values[k][i]);
            }
        });
    });
    let mut ends: [T; PACKS] = from_fn(|k| values[k][LANES - 1]);
    macro_rules! rounds {
        ($($delta:literal)*) => {$(
            unrolled::<PACKS>(|k| {
                // SAFETY: all lanes are here.
                let (below, _) = unsafe { warp_shuffle_up(ALL, ends[k], $delta, 32) };
                if lane >= $delta {
                    ends[k] = O::apply(below, ends[k]);
                }
            });
        )*};
    }
    rounds!(1 2 4 8 16);
    let mut total = O::identity();
    unrolled::<PACKS>(|k| {
        // SAFETY: all lanes are here.
        let ((below, _), (row, _)) = unsafe {
            (
                warp_shuffle_up(ALL, ends[k], 1, 32),
                warp_shuffle_idx(ALL, ends[k], 31, 32),
            )
        };
        let before = if lane == 0 {
            total
        } else {
            O::apply(total, below)
        };
        let inclusive = values[k];
        unrolled::<LANES>(|i| {
            let last = match i {
                0 => O::identity(),
                _ => inclusive[i - 1],
            };
            let value = if tiles.of.exclusive {
                last
            } else {
                inclusive[i]
            };
            values[k][i] = O::apply(before, value);
        });
        total = O::apply(total, row);
    });
    (values, total)
}

/// For lane w, the fold of the totals of the warps before warp w; and that of all warps.
///
/// # Safety
/// All lanes call it; `totals` has all warps' totals.
#[inline(always)]
unsafe fn join_warps<T: Element, O: Op>(totals: *const T, lane: u32) -> (T, T) {
    const { assert!(WARPS == 8) };
    let mut value = O::identity();
    // SAFETY: a warp's total; all lanes are here.
    unsafe {
        if (lane as usize) < WARPS {
            value = totals.add(lane as usize).read();
        }
        macro_rules! rounds {
            ($($delta:literal)*) => {$(
                let (below, _) = warp_shuffle_up(ALL, value, $delta, 32);
                if lane >= $delta {
                    value = O::apply(below, value);
                }
            )*};
        }
        rounds!(1 2 4);
        let (below, _) = warp_shuffle_up(ALL, value, 1, 32);
        let (all, _) = warp_shuffle_idx(ALL, value, WARPS as u32 - 1, 32);
        (if lane == 0 { O::identity() } else { below }, all)
    }
}

/// What comes before a tile whose total is `own`, in all lanes. Publishes what the tile completes.
///
/// # Safety
/// All lanes of a warp call it, once for each tile.
#[inline(always)]
unsafe fn look_back<T: Element, O: Op>(
    tiles: &Tiles<'_, T>,
    tile: u32,
    words: Words,
    own: T,
    lane: u32,
) -> T {
    let (of, each) = (&tiles.of, tiles.each as usize);
    let Tile { line, number, .. } = tiles.tile(tile);
    let wants_totals = of.output.is_null();
    let (run, group) = (number / RUN, number / GROUP);
    // Tiles before it in its run, and runs before that in its group.
    let (in_run, in_group) = (number % RUN, run % RUN);
    let of_tiles = line * published(each);
    let of_runs = of_tiles + each;
    let of_groups = of_runs + each / RUN;
    let lane_of = lane as usize;

    // SAFETY: the state has a place for each tile, each whole run and each whole group, and those of
    // earlier tiles only are read. All lanes are here. Lane 0 alone writes what this tile
    // completes, which no other tile does.
    unsafe {
        let get = |index: usize, wanted: bool| match wanted {
            true => words.get::<T>(index),
            false => (O::identity(), true),
        };
        let of_tile = || get(of_tiles + number - in_run + lane_of, lane_of < in_run);
        let of_run = || get(of_runs + run - in_group + lane_of, lane_of < in_group);
        let of_group = || get(of_groups + group.wrapping_sub(1), true);
        let has_group = group > 0 && !wants_totals;
        // All three are in flight together.
        let (mut tile_total, mut has_tile) = of_tile();
        let (mut run_total, mut has_run) = of_run();
        let (mut start, mut has_start) = (O::identity(), true);
        if has_group {
            (start, has_start) = of_group();
        } else if !wants_totals {
            start = of.start::<O>(line);
        }

        while !warp_vote_all(ALL, has_tile) {
            (tile_total, has_tile) = of_tile();
        }
        let before_tile = fold::<T, O>(tile_total);
        let with_tile = O::apply(before_tile, own);
        if in_run == RUN - 1 && lane == 0 {
            words.put(of_runs + run, with_tile);
        }
        while !warp_vote_all(ALL, has_run) {
            (run_total, has_run) = of_run();
        }
        let before_run = fold::<T, O>(run_total);
        while has_group && !warp_vote_all(ALL, has_start) {
            (start, has_start) = of_group();
        }

        let is_last = number + 1 == each;
        let ends_group = number % GROUP == GROUP - 1;
        if lane == 0 && (is_last || ends_group) {
            let total = O::apply(before_run, with_tile);
            let next = O::apply(start, total);
            if ends_group {
                words.put(of_groups + group, next);
            }
            if wants_totals {
                let total = O::turned(total, of.flip);
                let after = of.after.add(line * groups::<T>(of.extent) + group);
                after.write(total);
            } else if is_last && of.has_after {
                of.after.add(line).write(O::turned(next, of.flip));
            }
        }
        let before = O::apply(O::apply(start, before_run), before_tile);
        warp_shuffle_idx(ALL, before, 0, 32).0
    }
}

/// The fold of all lanes' values, lower ones first, in lane 0.
///
/// # Safety
/// All lanes call it.
#[inline(always)]
unsafe fn fold<T: Element, O: Op>(mut value: T) -> T {
    macro_rules! rounds {
        ($($delta:literal)*) => {$(
            // SAFETY: all lanes are here.
            let (above, _) = unsafe { warp_shuffle_down(ALL, value, $delta, 32) };
            value = O::apply(value, above);
        )*};
    }
    rounds!(1 2 4 8 16);
    value
}

/// Stores this thread's results of a tile, with what comes before its warp's elements.
///
/// # Safety
/// The output has the tile, and only this thread these elements of it.
#[inline(always)]
unsafe fn store<T: Element, O: Op, const LANES: usize>(
    tiles: &Tiles<'_, T>,
    tile: u32,
    before: T,
    elements: Packs<T, LANES>,
    at: usize,
) {
    let Tile { start, len, .. } = tiles.tile(tile);
    let to = tiles.of.output.wrapping_add(start);
    let whole = len == super::tile::<T>() && to.addr().is_multiple_of(BYTES);
    unrolled::<PACKS>(|k| {
        let first = (at + k * 32) * LANES;
        let to = to.wrapping_add(first);
        let result = |value| O::turned(O::apply(before, value), tiles.of.flip);
        let results = elements[k].map(result);
        if whole {
            // SAFETY: inside the output; packs are aligned, as the tile is.
            unsafe { to.cast::<Pack<T, LANES>>().write(Pack(results)) };
        } else {
            unrolled::<LANES>(|i| {
                if first + i < len {
                    // SAFETY: inside the output.
                    unsafe { to.wrapping_add(i).write(results[i]) };
                }
            });
        }
    });
}
