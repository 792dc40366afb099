//! The totals of a line's groups: a scan without an output, at the rate of a sum.
//!
//! Additions are those of [`tiles`](super::tiles), in their order, so a later piece starts with the
//! bits that a scan of the whole line has there. Only one value per group is stored, so there is
//! nothing to wait for between two tiles:
//!
//! - Each ticket is a run of 32 tiles. Eight warps sum their parts of one tile after the other,
//!   with [`AHEAD`] copies in flight and no barrier: a total for each warp and tile goes to shared
//!   memory.
//! - At the end of a run is the round's only barrier. It orders these totals before the ninth
//!   warp's reads, and the ticket that the ninth warp wrote before the others' reads. While they
//!   sum the next run, into the other half of the totals, the ninth warp folds this one: lane t has
//!   tile t.
//! - The ninth warp publishes the run's total. For the last run of a group or a line it also waits
//!   for the totals of the earlier runs, which other blocks publish, and writes the group's total.
//!   It waits for earlier tickets only, whose blocks run, so the launch ends.
//! - Copies of the next run's first tiles start before the barrier: a block has tickets for it.

use cuda_std::async_copy::cp_async_wait_group;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};
use cuda_std::warp::{warp_shuffle_idx, warp_vote_all};

use super::tile::{ALL, NONE, Tiles, copy, fold, sum_warp};
use super::words::{Tickets, Words, words};
use super::{Lines, PACKS, RUN, SLOTS, WARPS, groups};
use crate::here::zero_here;
use crate::number::Scalar;
use crate::pack::Pack;
use crate::reduce::Op;

/// Tiles whose copies are in flight while another one is summed.
const AHEAD: usize = SLOTS - 1;
/// Tickets that a block takes before it sums: if each run is one tile, the copies in flight belong
/// to that many runs.
const TICKETS: usize = AHEAD + 1;
/// Runs on a block's board, at least: the one that is folded, those with tickets, and the one whose
/// ticket is being taken.
const BOARD: usize = 8;

/// Consecutive tiles of a line; none, if there is no such run.
#[derive(Clone, Copy)]
struct Run {
    /// The ticket of its first tile, and how many it has.
    first: u32,
    tiles: u32,
    line: u32,
    /// Its number in its line.
    number: u32,
}

impl Run {
    /// The run of a ticket, if it is one of `all`, of which each line has `runs`.
    #[inline(always)]
    fn of<T: Scalar>(tiles: &Tiles<'_, T>, ticket: u32, runs: u32, all: u32) -> Self {
        let (line, number) = (ticket / runs, ticket % runs);
        let left = tiles.each - number * RUN as u32;
        let whole = if left < RUN as u32 { left } else { RUN as u32 };
        Self {
            first: line
                .wrapping_mul(tiles.each)
                .wrapping_add(number * RUN as u32),
            tiles: if ticket < all { whole } else { 0 },
            line,
            number,
        }
    }
}

/// # Safety
/// As for [`tiles::scan`](super::tiles::scan), without an output.
#[inline(always)]
pub(super) unsafe fn totals<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    state: *mut u64,
    state_words: usize,
) {
    const { assert!(RUN == 32 && WARPS == 8 && TICKETS + 2 <= BOARD) };
    // SAFETY: the caller's promise.
    let tiles = unsafe { Tiles::of(of) };
    let runs = tiles.each.div_ceil(RUN as u32);
    let all = of.len() as u32 * runs;
    let slots = dynamic_shared_mem::<Pack<T, LANES>>();
    // Warp w's total of tile t, at 32·w + t: the ninth warp's reads have no bank conflicts.
    let sums = shared_array![u64; 2 * WARPS * RUN].cast::<T>();
    // The block's n-th run, at n modulo BOARD.
    let board = shared_array![Run; BOARD];

    let thread = thread::thread_idx_x();
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread % 32;
    let folds = warp == WARPS;
    let tickets = Tickets {
        state,
        len: state_words,
        written: all as usize * words::<T>(),
        // One more for each run that a block has.
        total: all + TICKETS as u32 * thread::grid_dim_x(),
    };
    // A line of one tile may have no state, and needs none.
    let alone = tiles.each == 1;
    let mut dealt = thread::block_idx_x();
    let mut next_run = |tag: &mut u32| {
        let ticket = if alone {
            dealt += thread::grid_dim_x();
            dealt - thread::grid_dim_x()
        } else {
            // SAFETY: the caller's promise; each ticket that is taken is asked about once.
            let (ticket, launch) = unsafe { tickets.taken(tickets.take()) };
            *tag = launch;
            ticket
        };
        Run::of(&tiles, ticket, runs, all)
    };
    // SAFETY: the caller's promise, and the barriers in the file's header, give all that the
    // functions below require. All threads read the same entries of the board.
    unsafe {
        let mut tag = 0;
        if folds && lane == 0 {
            let mut n = zero_here();
            while n < TICKETS {
                board.add(n).write(next_run(&mut tag));
                n += 1;
            }
        }
        // Orders the board before all reads of it.
        thread::sync_threads();
        let words = Words::new(state, warp_shuffle_idx(ALL, tag, 0, 32).0);
        let nth = |n: usize| board.add(n % BOARD);
        let len_of = |n: usize| assume_block_uniform((*nth(n)).tiles);
        let sums_of = |n: usize| sums.add(n % 2 * WARPS * RUN);
        let at = warp * 32 * PACKS + lane as usize;
        let slots_of = |n: usize| slots.add(n % SLOTS * PACKS * WARPS * 32 + at);
        // Starts the copy of the n-th tile after a run's start: an empty group if there is none.
        let start = |mut run: usize, mut n: u32, slot: usize| {
            let mut len = len_of(run);
            while len > 0 && n >= len {
                (run, n) = (run + 1, n - len);
                len = len_of(run);
            }
            let ticket = if len > 0 {
                nth(run).read().first + n
            } else {
                NONE
            };
            copy::<T, O, LANES>(of, &tiles.tile(ticket), slots_of(slot), at);
        };
        if !folds {
            let mut n = zero_here();
            while n < AHEAD {
                start(0, n as u32, n);
                n += 1;
            }
        }
        // The numbers of the block's run and of its tile.
        let (mut run, mut slot) = (0, 0);
        loop {
            let has = len_of(run) > 0;
            if folds {
                if has && lane == 0 {
                    nth(run + TICKETS).write(next_run(&mut tag));
                }
                if run > 0 {
                    fold_run::<T, O>(&tiles, nth(run - 1).read(), sums_of(run - 1), words, lane);
                }
            } else {
                let mut n = 0;
                while n < len_of(run) {
                    start(run, n + AHEAD as u32, slot + AHEAD);
                    cp_async_wait_group::<{ AHEAD as u32 }>();
                    let sum = sum_warp::<T, O, LANES>(of, slots_of(slot));
                    if lane == 0 {
                        sums_of(run).add(warp * RUN + n as usize).write(sum);
                    }
                    n += 1;
                    slot += 1;
                }
            }
            if !has {
                break;
            }
            // Orders this run's totals before the ninth warp's reads, its reads of the last run's
            // before the totals that overwrite them, and its new run before the others' reads.
            thread::sync_threads();
            run += 1;
        }
    }
}

/// Folds the sums of a run's tiles, and publishes the run's total or writes its group's.
///
/// # Safety
/// All lanes of a warp call it, once for each run of the block in order. `sums` has the warps' sums
/// of the run's tiles.
#[inline(always)]
unsafe fn fold_run<T: Scalar, O: Op>(
    tiles: &Tiles<'_, T>,
    run: Run,
    sums: *const T,
    words: Words,
    lane: u32,
) {
    let of = &tiles.of;
    let (runs, number) = (tiles.each.div_ceil(RUN as u32), run.number as usize);
    // SAFETY: the caller's promise. The state has a place for each tile of each line that has
    // several, so for each run; `after` has one for each group.
    unsafe {
        let mut tile = O::nothing();
        if lane < run.tiles {
            let of_warp = |warp: usize| sums.add(warp * RUN + lane as usize).read();
            let pair = |warp: usize| O::apply(of_warp(warp), of_warp(warp + 1));
            let four = |warp: usize| O::apply(pair(warp), pair(warp + 2));
            tile = O::apply(four(0), four(4));
        }
        // The last tile's total is added last, as in `tiles`, where a tile folds the earlier ones.
        let own = warp_shuffle_idx(ALL, tile, run.tiles - 1, 32).0;
        let before = if lane + 1 < run.tiles {
            tile
        } else {
            O::nothing()
        };
        let total = O::apply(fold::<T, O>(before), own);

        let (in_group, of_line) = (number % RUN, run.line as usize * runs as usize);
        // The last run's total too, though no run reads it: a launch writes all its words
        // (`words`).
        if tiles.each > 1 && lane == 0 {
            words.put(of_line + number, total);
        }
        if in_group < RUN - 1 && run.number + 1 < runs {
            return;
        }
        let mut earlier = words.known(O::nothing::<T>());
        let waits = (lane as usize) < in_group;
        let place = of_line + number - in_group + lane as usize;
        if waits {
            earlier = words.load::<T>(place);
        }
        while !warp_vote_all(ALL, words.value::<T>(earlier).1) {
            if waits {
                earlier = words.load::<T>(place);
            }
        }
        let (earlier, _) = words.value(earlier);
        let total = O::apply(fold::<T, O>(earlier), total);
        if lane == 0 {
            let group = run.line as usize * groups::<T>(of.extent) + number / RUN;
            of.after.add(group).write(O::turned(total, of.flip));
        }
    }
}
