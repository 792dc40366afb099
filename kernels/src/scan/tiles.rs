//! Long lines: one pass over memory by blocks that publish the totals of their tiles.
//!
//! A tile's results need its prefix, the total of all earlier tiles of the line. It is read from
//! fixed places and combined in a fixed order, whatever has been published when: 32 tiles form a
//! *run*, 32 runs a *group*. A tile publishes its own total, the last tile of a run the run's
//! total, the last tile of a group the prefix of the next group. So each lane of a warp reads at
//! most one tile's total of this run and one run's of this group, and the warp the group's prefix:
//! three loads, five rounds of shuffles. Decoupled look-back (Merrill and Garland, 2016) reads as
//! much, but there the order of additions, and with it the bits of float sums, depends on timing.
//!
//! - Tiles are taken by [tickets](super::words), so that a tile waits only for tiles of blocks that
//!   run: the launch ends however few of its blocks are resident. The earliest waiting tile never
//!   has to wait, and no work on a tile waits for a later tile of the same block.
//! - A block has five tiles in progress. In round n, eight warps sum tile n. The ninth warp
//!   publishes its total, looks back in the group for tile n − 2 and in the run for tile n − 1,
//!   while the others scan and store tile n − 3. So it looks for values that were published about
//!   one round earlier. The copy of tile n + 1 is in flight, by `cp.async`.
//! - The ninth warp issues its loads and takes its ticket before a round's first barrier, and uses
//!   them after it, so that no warp waits for memory there.
//! - Loads: a thread copies to shared memory, reads and stores the same packs: adjacent threads
//!   adjacent packs (coalesced, no bank conflicts). No other thread uses its slots, so they need no
//!   barrier: the thread waits for its own copies.
//! - A warp has 512 adjacent elements of 4 bytes, as four rows of 32 packs. It scans the rows'
//!   packs by shuffles.
//! - A round's first barrier orders the warps' totals before the ninth warp's reads. Its second one
//!   orders those reads before the next totals, and the ninth warp's writes (each warp's prefix,
//!   the tile of a ticket) before the others' reads. In the meantime the others read other slots.
//! - Where each tile has a block, [`scan_once`](super::once::scan_once) has no rounds.

use cuda_std::async_copy::cp_async_wait_group;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_all};

use super::tile::{ALL, NONE, Places, Tile, Tiles, copy, fold, join_warps, scan_warp, sum_warp};
use super::words::{Loaded, Tickets, Words, words};
use super::{AHEAD, DELAY, FETCH, GROUP, Lines, PACKS, RUN, SLOTS, WARPS, published};
use crate::number::Scalar;
use crate::pack::{BYTES, Pack};
use crate::reduce::Op;

/// The tiles on a block's board: more than are in progress.
const BOARD: usize = 8;

/// # Safety
/// The output has as many elements as the input; `before` and `after` have one for each line or
/// none. `state` has [`state_len`](super::state_len) words, if that is not 0, which are zeros or
/// what the last launch left. Only this launch uses the outputs and the state. All threads of the
/// launch call it: one row of blocks of [`THREADS`](super::THREADS) along x, with
/// [`super::RING_BYTES`] of dynamic shared memory. Its tiles plus five times its blocks fit into 32
/// bits.
#[inline(always)]
pub(super) unsafe fn scan<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    state: *mut u64,
    state_words: usize,
) {
    const { assert!(size_of::<T>() * LANES == BYTES) };
    const { assert!(AHEAD == FETCH + 1 && SLOTS == FETCH + DELAY && AHEAD + DELAY < BOARD) };
    // SAFETY: the caller's promise.
    let tiles = unsafe { Tiles::of(of) };
    let each = tiles.each;
    let slots = dynamic_shared_mem::<Pack<T, LANES>>();
    let totals = shared_array![u64; WARPS].cast::<T>();
    let befores = shared_array![u64; 2 * WARPS].cast::<T>();
    // The block's n-th tile, at n modulo BOARD.
    let board = shared_array![Tile; BOARD];
    let tag = shared_array![u32; 1];

    let thread = thread::thread_idx_x();
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread % 32;
    let looks = warp == WARPS;
    let blocks = thread::grid_dim_x();

    // Tiles that need no other tile are dealt to the blocks in turn, without tickets.
    let alone = each == 1;
    let tickets = Tickets {
        state,
        len: state_words,
        written: of.len() * published(each as usize) * words::<T>(),
        total: tiles.all + AHEAD as u32 * blocks,
    };
    // SAFETY: the caller's promise, and the barriers in the file's header, give all that the
    // functions below require. All threads read the same entries of the board.
    unsafe {
        let mut dealt = thread::block_idx_x();
        if thread == WARPS as u32 * 32 {
            let mut launch = 0;
            unrolled::<AHEAD>(|n| {
                let ticket;
                if alone {
                    ticket = dealt;
                    dealt += blocks;
                } else {
                    (ticket, launch) = tickets.taken(tickets.take());
                }
                board.add(n).write(tiles.tile(ticket));
            });
            tag.write(launch);
        }
        // Another warp clears the rest of the board meanwhile.
        if (AHEAD as u32..BOARD as u32).contains(&thread) {
            board.add(thread as usize).write(Tile::NONE);
        }
        // Orders the board and the tag before all reads of them.
        thread::sync_threads();
        let nth = |n: usize| board.add(n % BOARD);
        let len_of = |n: usize| assume_block_uniform((*nth(n)).len);
        let words = Words::new(state, tag.read());

        let at = warp * 32 * PACKS + lane as usize;
        let slots_of = |n: usize| slots.add(n % SLOTS * PACKS * WARPS * 32 + at);
        if !looks {
            unrolled::<FETCH>(|n| copy::<T, O, LANES>(of, nth(n), slots_of(n), at));
        }
        // What the ninth warp knows of tiles n − 1 and n − 2.
        let mut last = Known::<T>::nothing::<O>();
        let mut waiting = last;
        let mut n = 0;
        loop {
            // The tile that is stored.
            let done = n + BOARD - DELAY;
            let stored = if n < DELAY { 0 } else { len_of(done) };
            if stored == 0 && (n == 0 && len_of(0) == 0 || n >= DELAY) {
                break;
            }
            let len = len_of(n);
            let mut found = Found::nothing::<T, O>(words);
            let mut taken = 0;
            let takes = looks && len > 0 && lane == 0;
            if looks {
                // The result is used only after the barrier, so that no thread waits for it here.
                if takes && !alone {
                    taken = tickets.take();
                }
                found = look::<T, O>(&tiles, nth(n + BOARD - 1), nth(n + BOARD - 2), words, lane);
            } else if len > 0 {
                cp_async_wait_group::<{ FETCH as u32 - 1 }>();
                let total = sum_warp::<T, O, LANES>(of, slots_of(n));
                if lane == 0 {
                    totals.add(warp).write(total);
                }
            }
            // Orders the warps' totals before the ninth warp's reads.
            thread::sync_threads();
            if looks {
                let mut next = Known::<T>::nothing::<O>();
                if len > 0 {
                    (next.before_warp, next.own) = join_warps::<T, O>(totals, lane);
                    if !alone && lane == 0 {
                        let Tile { line, number, .. } = nth(n).read();
                        let first = line * published(each as usize);
                        words.put(first + number as usize, next.own);
                    }
                }
                let [tile, earlier] = [n + BOARD - 1, n + BOARD - 2];
                // The earlier tile first: no tile may wait for a later one.
                if len_of(earlier) > 0 {
                    let tile = nth(earlier);
                    let before = in_group::<T, O>(&tiles, tile, words, found, waiting, lane);
                    if (lane as usize) < WARPS {
                        let before = O::apply(before, waiting.before_warp);
                        befores.add(n % 2 * WARPS + lane as usize).write(before);
                    }
                }
                if len_of(tile) > 0 {
                    in_run::<T, O>(&tiles, nth(tile), words, found, &mut last, lane);
                }
                let mut ticket = NONE;
                if takes && alone {
                    ticket = dealt;
                    dealt += blocks;
                } else if takes {
                    (ticket, _) = tickets.taken(taken);
                }
                if lane == 0 {
                    nth(n + AHEAD).write(tiles.tile(ticket));
                }
                (waiting, last) = (last, next);
            } else {
                if stored > 0 {
                    let before = befores.add((n + 1) % 2 * WARPS + warp).read();
                    scan_warp::<T, O, LANES>(
                        of,
                        nth(done),
                        slots_of(n + SLOTS - DELAY),
                        before,
                        at,
                        lane,
                    );
                }
                copy::<T, O, LANES>(of, nth(n + FETCH), slots_of(n + FETCH), at);
            }
            // Orders the ninth warp's reads of totals before the next round's totals, and its
            // prefixes and tile before the others' reads.
            thread::sync_threads();
            n += 1;
        }
    }
}

/// What the ninth warp knows of a tile.
#[derive(Clone, Copy)]
struct Known<T> {
    /// In lane w, the total of the tile's elements before those of warp w.
    before_warp: T,
    /// The tile's total.
    own: T,
    /// In lane 0, the total of the earlier tiles of its run.
    before_tile: T,
}

impl<T: Scalar> Known<T> {
    #[inline(always)]
    fn nothing<O: Op>() -> Self {
        Self {
            before_warp: O::nothing(),
            own: O::nothing(),
            before_tile: O::nothing(),
        }
    }
}

/// What the ninth warp loaded when it looked back: in each lane a tile's total and a run's, and the
/// group's prefix.
#[derive(Clone, Copy)]
struct Found {
    tile: Loaded,
    run: Loaded,
    group: Loaded,
}

impl Found {
    #[inline(always)]
    fn nothing<T: Scalar, O: Op>(words: Words) -> Self {
        let nothing = words.known(O::nothing::<T>());
        Self {
            tile: nothing,
            run: nothing,
            group: nothing,
        }
    }
}

/// Reads all that tile `last` needs of its run and tile `waiting` of its group, without waiting.
///
/// # Safety
/// All lanes of a warp call it, with tiles of the board.
#[inline(always)]
unsafe fn look<T: Scalar, O: Op>(
    tiles: &Tiles<'_, T>,
    last: *const Tile,
    waiting: *const Tile,
    words: Words,
    lane: u32,
) -> Found {
    let mut found = Found::nothing::<T, O>(words);
    // SAFETY: the state has the places of tiles.
    unsafe {
        let (last, waiting) = (last.read(), waiting.read());
        if last.len > 0 {
            found.tile = Places::of(tiles, last).tile::<T, O>(words, lane);
        }
        if waiting.len > 0 {
            let places = Places::of(tiles, waiting);
            found.run = places.run::<T, O>(words, lane);
            found.group = places.before_group::<T, O>(words);
        }
    }
    found
}

/// Finds the total of the earlier tiles of a tile's run. The last tile publishes the run's total.
///
/// # Safety
/// All lanes of a warp call it, once for each tile.
#[inline(always)]
unsafe fn in_run<T: Scalar, O: Op>(
    tiles: &Tiles<'_, T>,
    tile: *const Tile,
    words: Words,
    found: Found,
    known: &mut Known<T>,
    lane: u32,
) {
    let (mut total, mut has) = words.value(found.tile);
    // SAFETY: the state has the tile's places. All lanes are here. Only lane 0, for this tile
    // alone, writes the run's total.
    unsafe {
        let places = Places::of(tiles, tile.read());
        while !warp_vote_all(ALL, has) {
            (total, has) = words.value(places.tile::<T, O>(words, lane));
        }
        known.before_tile = fold::<T, O>(total);
        if places.in_run == RUN - 1 && lane == 0 {
            words.put(places.run, O::apply(known.before_tile, known.own));
        }
    }
}

/// A tile's prefix, in all lanes. The last tile of a group publishes the prefix of the next group,
/// the last of a line writes `after`.
///
/// # Safety
/// All lanes of a warp call it, once for each tile, after [`in_run`].
#[inline(always)]
unsafe fn in_group<T: Scalar, O: Op>(
    tiles: &Tiles<'_, T>,
    tile: *const Tile,
    words: Words,
    found: Found,
    known: Known<T>,
    lane: u32,
) -> T {
    let (of, each) = (&tiles.of, tiles.each as usize);
    let (mut total, mut has_total) = words.value(found.run);
    let (mut start, mut has_start) = words.value(found.group);
    // SAFETY: the state has the tile's places. All lanes are here. Only lane 0, for this tile
    // alone, writes the values that this tile completes.
    unsafe {
        let tile = tile.read();
        let (line, number) = (tile.line, tile.number as usize);
        let places = Places::of(tiles, tile);
        while !warp_vote_all(ALL, has_total) {
            (total, has_total) = words.value(places.run::<T, O>(words, lane));
        }
        let before_run = fold::<T, O>(total);
        while !warp_vote_all(ALL, has_start) {
            (start, has_start) = words.value(places.before_group::<T, O>(words));
        }
        if !places.has_group {
            start = of.start::<O>(line);
        }
        let is_last = number + 1 == each;
        let ends_group = number % GROUP == GROUP - 1;
        if lane == 0 && (is_last || ends_group) {
            let total = O::apply(before_run, O::apply(known.before_tile, known.own));
            let next = O::apply(start, total);
            if ends_group {
                words.put(places.group, next);
            }
            if is_last && of.has_after {
                of.after.add(line).write(O::turned(next, of.flip));
            }
        }
        let before = O::apply(O::apply(start, before_run), known.before_tile);
        warp_shuffle_idx(ALL, before, 0, 32).0
    }
}
