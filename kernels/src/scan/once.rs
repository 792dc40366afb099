//! Scans whose blocks have one tile each: no rounds.
//!
//! - The block's number says which tile it has, so the tile's copies start at once. The ninth warp
//!   takes a ticket for its tag only, and looks back for the whole block.
//! - Blocks may begin in any order, so a tile may wait for one whose block has not begun: after
//!   [`TRIES`] looks the ninth warp adds up the earlier tiles itself, from the input and in the order
//!   that their own blocks do.

use core::array::from_fn;

use cuda_std::async_copy::cp_async_wait_group;
use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_all};

use super::tile::{
    ALL, Places, Tile, Tiles, copy, fold, join, join_warps, scan_warp, sum_packs, sum_warp,
};
use super::words::{Tickets, Words};
use super::{PACKS, RUN, WARPS};
use crate::here::zero_here;
use crate::number::Scalar;
use crate::pack::Pack;
use crate::reduce::Op;

/// How often a warp looks for an earlier tile before it adds that up itself.
const TRIES: usize = 64;

/// Scans the block's only tile, with the bits that rounds would give it.
///
/// # Safety
/// As for the caller, [`tiles::scan`](super::tiles::scan), of lines of fewer tiles than a group has,
/// and a block for each tile; `totals` and `befores` have a place for each warp.
#[inline(always)]
pub(super) unsafe fn scan<T: Scalar, O: Op, const LANES: usize>(
    tiles: &Tiles<'_, T>,
    slots: *mut Pack<T, LANES>,
    totals: *mut T,
    befores: *mut T,
    tickets: Tickets,
) {
    let of = tiles.of;
    let thread = thread::thread_idx_x();
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread % 32;
    let looks = warp == WARPS;
    let tile = tiles.tile(thread::block_idx_x());
    let alone = tiles.each == 1;
    let at = warp * 32 * PACKS + lane as usize;
    let slots = slots.wrapping_add(at);
    // SAFETY: the caller's promise; a thread waits for its own copies. All lanes of a warp are at its
    // shuffles.
    unsafe {
        let has = !looks && warp * 32 * PACKS * LANES < tile.len as usize;
        let mut tag = 0;
        if has {
            copy::<T, O, LANES>(of, &tile, slots, at);
            cp_async_wait_group::<0>();
            let total = sum_warp::<T, O, LANES>(of, slots);
            if lane == 0 {
                totals.add(warp).write(total);
            }
        } else if looks && !alone && lane == 0 {
            tag = tickets.taken(tickets.take()).1;
        } else if !looks && lane == 0 {
            totals.add(warp).write(O::nothing());
        }
        // Orders the warps' totals before the ninth warp's reads.
        thread::sync_threads();
        if looks && tile.len > 0 {
            let (before_warp, own) = join_warps::<T, O>(totals, lane);
            let mut start = of.start::<O>(tile.line);
            let mut next = O::apply(start, own);
            if !alone {
                let tag = warp_shuffle_idx(ALL, tag, 0, 32).0;
                let words = Words::new(tickets.state, tag);
                let [before_run, before_tile] =
                    earlier::<T, O, LANES>(tiles, tile, words, own, lane);
                let total = O::apply(before_run, O::apply(before_tile, own));
                next = O::apply(start, total);
                start = O::apply(O::apply(start, before_run), before_tile);
            }
            if (lane as usize) < WARPS {
                befores
                    .add(lane as usize)
                    .write(O::apply(start, before_warp));
            }
            if lane == 0 && of.has_after && tile.number + 1 == tiles.each {
                of.after.add(tile.line).write(O::turned(next, of.flip));
            }
        }
        // Orders what comes before each warp's elements before the warps' reads.
        thread::sync_threads();
        if has {
            let before = befores.add(warp).read();
            scan_warp::<T, O, LANES>(of, &tile, slots, before, at, lane);
        }
    }
}

/// What the earlier runs of a tile's line come to, and the earlier tiles of its run, in all lanes.
/// Publishes what the tile comes to, and its run if it ends there.
///
/// # Safety
/// All lanes of a warp call it, once for each tile. The line has fewer tiles than a group.
#[inline(always)]
unsafe fn earlier<T: Scalar, O: Op, const LANES: usize>(
    tiles: &Tiles<'_, T>,
    tile: Tile,
    words: Words,
    own: T,
    lane: u32,
) -> [T; 2] {
    let places = Places::of(tiles, tile);
    let mut before = [O::nothing(); 2];
    // SAFETY: the state has the tile's places, of which it alone writes its own and its run's. All
    // lanes are here.
    unsafe {
        if lane == 0 {
            words.put(places.tiles + places.in_run, own);
        }
        // The tiles of the run, then the runs before it; not unrolled, as most of it is code for
        // waiting.
        let mut is_of_runs = zero_here() != 0;
        loop {
            let (word, start, each, count) = match is_of_runs {
                false => (
                    places.tiles,
                    tile.start - places.in_run * super::tile::<T>(),
                    1,
                    places.in_run as u32,
                ),
                true => (
                    places.runs,
                    tile.line * tiles.of.extent,
                    RUN as u32,
                    places.in_group as u32,
                ),
            };
            let mut loaded = words.known(O::nothing::<T>());
            let mut tries = zero_here();
            let (value, has) = loop {
                if lane < count {
                    loaded = words.load::<T>(word + lane as usize);
                }
                let (value, has) = words.value::<T>(loaded);
                tries += 1;
                if warp_vote_all(ALL, has) || tries == TRIES {
                    break (value, has);
                }
            };
            let mut value = value;
            if !warp_vote_all(ALL, has) {
                let from = tiles.of.input.as_ptr().add(start);
                let has = u32::from(has);
                value = recount::<T, O, LANES>(from, each, count, tiles.of.flip, value, has, lane);
            }
            let folded = fold::<T, O>(value);
            let (folded, _) = warp_shuffle_idx(ALL, folded, 0, 32);
            if is_of_runs {
                before[0] = folded;
                break;
            }
            before[1] = folded;
            if lane == 0 && places.in_run == RUN - 1 {
                words.put(places.run, O::apply(folded, own));
            }
            is_of_runs = true;
        }
    }
    before
}

/// Lane t, below `count`, gets the total of `each` tiles, the first of which begins `t * each` tiles
/// behind `from`: `value` if the lane `has` it, else added up from the input. Not inline: it hardly
/// ever runs, and its code would lie between code that always does.
///
/// # Safety
/// All lanes of a warp call it. The tiles are whole.
#[inline(never)]
unsafe fn recount<T: Scalar, O: Op, const LANES: usize>(
    from: *const T,
    each: u32,
    count: u32,
    flip: u64,
    mut value: T,
    has: u32,
    lane: u32,
) -> T {
    // SAFETY: the caller's promise: elements of whole tiles; all lanes are here.
    unsafe {
        let mut t = 0;
        while t < count {
            if assume_warp_uniform(warp_shuffle_idx(ALL, has, t, 32).0) == 0 {
                let (mut before, mut own) = (O::nothing(), O::nothing());
                let mut n = 0;
                while n < each {
                    let tile = from.add((t * each + n) as usize * super::tile::<T>());
                    let mut of_warp = O::nothing();
                    let mut warp = 0;
                    while warp < WARPS {
                        let first = tile.add((warp * 32 * PACKS + lane as usize) * LANES);
                        let sum = sum_packs::<T, O, LANES>(flip, |k| {
                            from_fn(|i| first.add(k * 32 * LANES + i).read())
                        });
                        let (sum, _) = warp_shuffle_idx(ALL, sum, 0, 32);
                        if lane as usize == warp {
                            of_warp = sum;
                        }
                        warp += 1;
                    }
                    own = join::<T, O>(of_warp, lane).1;
                    // The last tile's comes last.
                    if lane == n && n + 1 < each {
                        before = own;
                    }
                    n += 1;
                }
                let total = O::apply(fold::<T, O>(before), own);
                let (total, _) = warp_shuffle_idx(ALL, total, 0, 32);
                if lane == t {
                    value = total;
                }
            }
            t += 1;
        }
    }
    value
}
