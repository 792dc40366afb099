//! Scans in one step: each block has one tile, so there are no rounds. An entry point of its own,
//! because short scans wait for the instruction cache: what lies around this code would cost more
//! than the code (docs/log/2026-11-26-scans.md).
//!
//! - The block's number says which tile it has, so the tile's copies start at once. The ninth warp
//!   takes a ticket for its tag only, and looks back for the whole block.
//! - Blocks may begin in any order, so a tile may wait for one whose block has not begun: after
//!   `TRIES` looks the ninth warp adds up the earlier tiles itself, from the input and in the order
//!   that their own blocks do. So the launch ends however few blocks are resident.
//! - Memory, slots and the order of additions are those of rounds, and so are the bits. While the
//!   ninth warp looks back, the others scan their elements for themselves.
//! - The first barrier orders the warps' totals before all reads of them. The second one, which
//!   lines of one tile do without, orders what the ninth warp found before the others' reads.

use core::array::from_fn;
use core::hint::assert_unchecked;

use cuda_std::async_copy::cp_async_wait_group;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_all};

use super::tile::{
    ALL, Places, Scanned, Tile, Tiles, copy, fold, join, join_warps, scan_packs, store_packs,
    sum_packs, sum_warp,
};
use super::words::{Tickets, Words, words};
use super::{Lines, PACKS, RUN, THREADS, TILE_BYTES, WARPS, published};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Way, in_one_step, is_state, state_len, whole_lines};
use crate::here::zero_here;
use crate::number::Scalar;
use crate::pack::{Pack, lanes};
use crate::reduce::{Extreme, Op, Sum};

/// How often a warp looks for an earlier tile's total before it sums that tile itself.
const TRIES: usize = 64;

/// As [`scan`](super::scan), of lines whose elements are adjacent, with a block for each tile.
///
/// # Parameters
/// Those of [`scan`](super::scan).
///
/// # Launch
/// One-dimensional blocks of [`THREADS`], as many as [`blocks`](super::blocks) of
/// [`Way::Tiles`], with [`TILE_BYTES`] of dynamic shared memory.
#[kernel(
    instances((i32 | i64 | f32 | f64, Sum | Extreme)),
    name = "scan_once_{O}_{T}",
    max_threads = 288,
    min_blocks = 4,
    require(
        whole_lines(input.len(), extent, 1),
        output.len() == input.len(),
        before.is_empty() || before.len() == input.len() / extent,
        after.is_empty() || after.len() == input.len() / extent,
        is_state(state.len(), state_len::<T>(Way::Tiles, input.len(), extent, 1)),
        in_one_step::<T>(input.len(), extent, grid.x),
        shared_bytes >= TILE_BYTES,
        exclusive <= 1,
        block.x == THREADS,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "an input, four arrays for the rest, and the shape"
)]
pub fn scan_once<T: Scalar, O: Op>(
    input: &[T],
    mut output: Out<T>,
    mut state: Atomics<u64>,
    before: &[T],
    mut after: Out<T>,
    extent: usize,
    flip: u64,
    exclusive: usize,
) {
    if input.is_empty() {
        return;
    }
    let of = Lines {
        input,
        output: output.as_mut_ptr(),
        before,
        has_after: !after.is_empty(),
        after: after.as_mut_ptr(),
        extent,
        inner: 1,
        flip,
        exclusive: exclusive != 0,
    };
    // SAFETY: `require` states the lengths, the block, and a block for each tile of lines that are
    // shorter than a group.
    unsafe { scan::<T, O, { lanes::<T>() }>(of, state.as_mut_ptr(), state.len()) };
}

/// # Safety
/// As for [`tiles::scan`](super::tiles::scan), of an input that is not empty and lines of fewer
/// tiles than a group has. The grid has a block for each tile, with [`TILE_BYTES`] of dynamic
/// shared memory.
#[inline(always)]
unsafe fn scan<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    state: *mut u64,
    state_words: usize,
) {
    let each = of.extent.div_ceil(super::tile::<T>()) as u32;
    // SAFETY: there is an element, so lines have some.
    unsafe { assert_unchecked(each > 0) };
    let all = thread::grid_dim_x();
    let tiles = Tiles { of, each, all };
    let slots = dynamic_shared_mem::<Pack<T, LANES>>();
    let totals = shared_array![u64; WARPS].cast::<T>();
    let found = shared_array![u64; 1].cast::<T>();

    let thread = thread::thread_idx_x();
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread % 32;
    let looks = warp == WARPS;
    let tile = tiles.tile(thread::block_idx_x());
    let alone = each == 1;
    let at = warp * 32 * PACKS + lane as usize;
    let slots = slots.wrapping_add(at);
    let has = !looks && warp * 32 * PACKS * LANES < tile.len as usize;
    // SAFETY: the caller's promise; a thread waits for its own copies. All lanes of a warp are at
    // its shuffles, and all threads at the barriers.
    unsafe {
        let mut tag = 0;
        if has {
            copy::<T, O, LANES>(of, &tile, slots, at);
            cp_async_wait_group::<0>();
            let total = sum_warp::<T, O, LANES>(of, slots);
            if lane == 0 {
                totals.add(warp).write(total);
            }
        } else if looks && !alone && lane == 0 {
            let tickets = Tickets {
                state,
                len: state_words,
                written: (all / each) as usize * published(each as usize) * words::<T>(),
                total: all,
            };
            tag = tickets.taken(tickets.take()).1;
        } else if !looks && lane == 0 {
            totals.add(warp).write(O::nothing());
        }
        // Orders the warps' totals before all reads of them.
        thread::sync_threads();
        let (before_warp, own) = join_warps::<T, O>(totals, lane);
        let mut start = of.start::<O>(tile.line);
        let mut scanned = Scanned::nothing::<O>();
        if looks {
            let mut next = O::apply(start, own);
            if !alone {
                let words = Words::new(state, warp_shuffle_idx(ALL, tag, 0, 32).0);
                let [before_run, before_tile] =
                    earlier::<T, O, LANES>(&tiles, tile, words, own, lane);
                let total = O::apply(before_run, O::apply(before_tile, own));
                next = O::apply(start, total);
                start = O::apply(O::apply(start, before_run), before_tile);
                if lane == 0 {
                    found.write(start);
                }
            }
            if lane == 0 && of.has_after && tile.number + 1 == each {
                of.after.add(tile.line).write(O::turned(next, of.flip));
            }
        } else if has {
            scanned = scan_packs::<T, O, LANES>(of, slots, lane);
        }
        if !alone {
            // Orders the ninth warp's write of `found` before the others' reads.
            thread::sync_threads();
            start = found.read();
        }
        if has {
            let (before_warp, _) = warp_shuffle_idx(ALL, before_warp, warp as u32, 32);
            let before = O::apply(start, before_warp);
            store_packs::<T, O, LANES>(of, &tile, slots, scanned, before, at, lane);
        }
    }
}

/// The total of the earlier runs of a tile's line, and that of the earlier tiles of its run, in all
/// lanes. Publishes the tile's total, and its run's if the tile is the last of the run.
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
        // First the tiles of the run, then the runs before it. Not unrolled: most of the code is
        // for waiting.
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

/// Lane t, for t below `count`, gets the total of the `each` tiles that begin `t * each` tiles
/// after `from`: `value` if the lane `has` it, else summed from the input. Not inline: it rarely
/// runs, and its code would lie between code that always runs.
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
                    // The last tile's total is added last, as in the run's own block.
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
