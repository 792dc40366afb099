//! A tile: its elements, the places of its published totals, and what a warp computes of it.

use core::array::from_fn;
use core::hint::assert_unchecked;

use cuda_std::async_copy::{cp_async_ca, cp_async_cg, cp_async_commit_group};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up};

use super::words::{Loaded, Words};
use super::{GROUP, Lines, PACKS, RUN, WARPS, published};
use crate::here::{rolled, zero_here};
use crate::number::Scalar;
use crate::pack::{BYTES, Pack};
use crate::reduce::Op;

pub(super) const ALL: u32 = u32::MAX;
/// The ticket of no tile.
pub(super) const NONE: u32 = u32::MAX;

/// The elements of a thread.
pub(super) type Packs<T, const LANES: usize> = [[T; LANES]; PACKS];

/// The tiles of a launch.
#[derive(Clone, Copy)]
pub(super) struct Tiles<'a, T> {
    pub(super) of: Lines<'a, T>,
    /// Tiles of a line, and of all.
    pub(super) each: u32,
    pub(super) all: u32,
}

/// One tile; no tile, if it has no element.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Its first element, and its number of elements.
    pub(super) start: usize,
    pub(super) len: u32,
    /// Its number in its line.
    pub(super) number: u32,
    pub(super) line: usize,
}

impl Tile {
    /// No tile.
    pub(super) const NONE: Self = Self {
        start: 0,
        len: 0,
        number: 0,
        line: 0,
    };
}

impl<'a, T: Scalar> Tiles<'a, T> {
    /// # Safety
    /// Lines have elements, and 32 bits count their tiles.
    #[inline(always)]
    pub(super) unsafe fn of(of: Lines<'a, T>) -> Self {
        let each = of.extent.div_ceil(super::tile::<T>()) as u32;
        // SAFETY: the caller's promise.
        unsafe { assert_unchecked(each > 0) };
        Self {
            of,
            each,
            all: of.len() as u32 * each,
        }
    }

    #[inline(always)]
    pub(super) fn tile(&self, ticket: u32) -> Tile {
        // No division for the first line, which is often the only one: short scans would wait for
        // it.
        let (line, number) = match ticket < self.each {
            true => (0, ticket),
            false => ((ticket / self.each) as usize, ticket % self.each),
        };
        let (from, size) = (number as usize * super::tile::<T>(), super::tile::<T>());
        let left = self.of.extent.wrapping_sub(from);
        let len = if left < size { left } else { size };
        Tile {
            start: line * self.of.extent + from,
            len: if ticket < self.all { len as u32 } else { 0 },
            number,
            line,
        }
    }
}

/// The published values that a tile's prefix consists of, by index.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// Its number in its run, its run's number in its group.
    pub(super) in_run: usize,
    pub(super) in_group: usize,
    /// Indices: of the first tile of its run, of the first run of its group, of its run, of its
    /// group.
    pub(super) tiles: usize,
    pub(super) runs: usize,
    pub(super) run: usize,
    pub(super) group: usize,
    /// Whether its group has a prefix: it is not the line's first.
    pub(super) has_group: bool,
}

impl Places {
    #[inline(always)]
    pub(super) fn of<T: Scalar>(tiles: &Tiles<'_, T>, tile: Tile) -> Self {
        let (each, number) = (tiles.each as usize, tile.number as usize);
        let (run, group) = (number / RUN, number / GROUP);
        let first = tile.line * published(each);
        let (runs, all_groups) = (first + each, first + each + each / RUN);
        Self {
            in_run: number % RUN,
            in_group: run % RUN,
            tiles: first + number / RUN * RUN,
            runs: runs + group * RUN,
            run: runs + run,
            group: all_groups + group,
            has_group: group > 0,
        }
    }

    /// # Safety
    /// The state has these places.
    #[inline(always)]
    pub(super) unsafe fn tile<T: Scalar, O: Op>(&self, words: Words, lane: u32) -> Loaded {
        match (lane as usize) < self.in_run {
            // SAFETY: an earlier tile.
            true => unsafe { words.load::<T>(self.tiles + lane as usize) },
            false => words.known(O::nothing::<T>()),
        }
    }

    /// # Safety
    /// The state has these places.
    #[inline(always)]
    pub(super) unsafe fn run<T: Scalar, O: Op>(&self, words: Words, lane: u32) -> Loaded {
        match (lane as usize) < self.in_group {
            // SAFETY: an earlier run, which is whole.
            true => unsafe { words.load::<T>(self.runs + lane as usize) },
            false => words.known(O::nothing::<T>()),
        }
    }

    /// # Safety
    /// The state has these places.
    #[inline(always)]
    pub(super) unsafe fn before_group<T: Scalar, O: Op>(&self, words: Words) -> Loaded {
        match self.has_group {
            // SAFETY: the group before, which is whole.
            true => unsafe { words.load::<T>(self.group - 1) },
            false => words.known(O::nothing::<T>()),
        }
    }
}

/// The fold of all lanes' values, lower lanes first, in lane 0.
///
/// # Safety
/// All lanes call it.
#[inline(always)]
pub(super) unsafe fn fold<T: Scalar, O: Op>(mut value: T) -> T {
    rolled(5, |round| {
        let distance = 1 << round;
        // SAFETY: all lanes are here.
        let (above, _) = unsafe { warp_shuffle_down(ALL, value, distance, 32) };
        value = O::apply(value, above);
    });
    value
}

/// In lane w, the total of the warps before warp w; and the total of all warps.
///
/// # Safety
/// All lanes call it; `totals` has all warps' totals.
#[inline(always)]
pub(super) unsafe fn join_warps<T: Scalar, O: Op>(totals: *const T, lane: u32) -> (T, T) {
    let mut value = O::nothing();
    if (lane as usize) < WARPS {
        // SAFETY: a warp's total.
        value = unsafe { totals.add(lane as usize).read() };
    }
    // SAFETY: all lanes are here.
    unsafe { join::<T, O>(value, lane) }
}

/// As [`join_warps`], where lane w has warp w's total.
///
/// # Safety
/// All lanes call it.
#[inline(always)]
pub(super) unsafe fn join<T: Scalar, O: Op>(mut value: T, lane: u32) -> (T, T) {
    const { assert!(WARPS == 8) };
    // SAFETY: all lanes are here.
    unsafe {
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
        (if lane == 0 { O::nothing() } else { below }, all)
    }
}

/// The end of a warp's elements in its tile, where `at` is the first pack of one of its lanes.
#[inline(always)]
pub(super) const fn warp_end<const LANES: usize>(at: usize) -> usize {
    const { assert!((32 * PACKS).is_power_of_two()) };
    ((at | (32 * PACKS - 1)) + 1) * LANES
}

/// Calls `body` for each of this thread's elements of a tile, with its index in the tile and its
/// place in the thread's slots. A loop, not unrolled: incomplete and unaligned tiles are rare, and
/// less code is fetched.
#[inline(always)]
pub(super) fn each_element<const LANES: usize>(at: usize, mut body: impl FnMut(usize, usize)) {
    let mut i = zero_here();
    while i < PACKS * LANES {
        let (row, lane) = (i / LANES * 32, i % LANES);
        body((at + row) * LANES + lane, row * LANES + lane);
        i += 1;
    }
}

/// Starts copying this thread's packs of a tile, as a group of `cp.async`. Slots beyond the tile's
/// end get the identity. Without a tile the group is empty.
///
/// # Safety
/// `slots` are this thread's, which it does not use before it has waited. `tile` can be read.
#[inline(always)]
pub(super) unsafe fn copy<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    tile: *const Tile,
    slots: *mut Pack<T, LANES>,
    at: usize,
) {
    // SAFETY: the caller's promise.
    let Tile { start, len, .. } = unsafe { tile.read() };
    let from = of.input.as_ptr().wrapping_add(start);
    if len as usize >= warp_end::<LANES>(at) && from.addr().is_multiple_of(BYTES) {
        unrolled::<PACKS>(|k| {
            let from = from.wrapping_add((at + k * 32) * LANES);
            // SAFETY: the tile has all packs of this warp, and its first one is aligned, so all
            // are.
            unsafe { cp_async_cg(slots.wrapping_add(k * 32), from.cast()) };
        });
    } else if len > 0 {
        each_element::<LANES>(at, |i, place| {
            let slot = slots.cast::<T>().wrapping_add(place);
            // SAFETY: an element of the tile, or a slot of this thread.
            unsafe {
                if i < len as usize {
                    cp_async_ca(slot, from.wrapping_add(i));
                } else {
                    slot.write(O::turned(O::nothing(), of.flip));
                }
            }
        });
    }
    cp_async_commit_group();
}

/// The total of the warp's elements of a tile, in lane 0.
///
/// # Safety
/// All lanes call it; this thread's copies to its slots have arrived.
#[inline(always)]
pub(super) unsafe fn sum_warp<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    slots: *const Pack<T, LANES>,
) -> T {
    // SAFETY: the copies have arrived; all lanes are here.
    unsafe { sum_packs::<T, O, LANES>(of.flip, |k| slots.add(k * 32).read().0) }
}

/// The total of the packs of a warp's lanes, in lane 0; `pack(k)` is a lane's k-th pack.
///
/// # Safety
/// All lanes call it.
#[inline(always)]
pub(super) unsafe fn sum_packs<T: Scalar, O: Op, const LANES: usize>(
    flip: u64,
    pack: impl Fn(usize) -> [T; LANES],
) -> T {
    let mut sum = O::nothing();
    unrolled::<PACKS>(|k| {
        let mut values = pack(k).map(|element| O::turned(element, flip));
        // Pairs first: a chain half as long.
        unrolled::<LANES>(|i| {
            if i % 2 == 1 {
                values[i] = O::apply(values[i - 1], values[i]);
            }
        });
        let of_pack = match LANES {
            2 => values[1],
            _ => O::apply(values[1], values[LANES - 1]),
        };
        sum = O::apply(sum, of_pack);
    });
    // SAFETY: all lanes are here.
    unsafe { fold::<T, O>(sum) }
}

/// A warp's elements of a tile, scanned without their prefix.
#[derive(Clone, Copy)]
pub(super) struct Scanned<T, const LANES: usize> {
    /// Each pack, scanned by itself.
    values: Packs<T, LANES>,
    /// For each row, the total of its packs up to and with this lane's.
    ends: [T; PACKS],
}

impl<T: Scalar, const LANES: usize> Scanned<T, LANES> {
    pub(super) fn nothing<O: Op>() -> Self {
        Self {
            values: [[O::nothing(); LANES]; PACKS],
            ends: [O::nothing(); PACKS],
        }
    }
}

/// Scans the warp's elements of a tile, and stores the results with the prefix `before`.
///
/// # Safety
/// As for [`scan_packs`] and [`store_packs`].
#[inline(always)]
pub(super) unsafe fn scan_warp<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    tile: *const Tile,
    slots: *mut Pack<T, LANES>,
    before: T,
    at: usize,
    lane: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let scanned = scan_packs::<T, O, LANES>(of, slots, lane);
        store_packs::<T, O, LANES>(of, tile, slots, scanned, before, at, lane);
    }
}

/// Scans the warp's elements of a tile without their prefix.
///
/// # Safety
/// All lanes call it; this thread's copies to its slots have arrived.
#[inline(always)]
pub(super) unsafe fn scan_packs<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    slots: *const Pack<T, LANES>,
    lane: u32,
) -> Scanned<T, LANES> {
    let mut values: Packs<T, LANES> = [[O::nothing(); LANES]; PACKS];
    unrolled::<PACKS>(|k| {
        // SAFETY: the copy has arrived.
        let pack = unsafe { slots.add(k * 32).read() }.0;
        values[k] = pack.map(|element| O::turned(element, of.flip));
        unrolled::<LANES>(|i| {
            if i > 0 {
                values[k][i] = O::apply(values[k][i - 1], values[k][i]);
            }
        });
    });
    let mut ends: [T; PACKS] = from_fn(|k| values[k][LANES - 1]);
    rolled(5, |round| {
        let distance = 1 << round;
        unrolled::<PACKS>(|k| {
            // SAFETY: all lanes are here.
            let (below, _) = unsafe { warp_shuffle_up(ALL, ends[k], distance, 32) };
            if lane >= distance {
                ends[k] = O::apply(below, ends[k]);
            }
        });
    });
    Scanned { values, ends }
}

/// Stores the warp's scanned elements of a tile, with the prefix `before`.
///
/// # Safety
/// All lanes call it, with what [`scan_packs`] returned to them. The output contains the tile; only
/// this thread has these elements of it, and the slots. `tile` can be read.
#[inline(always)]
pub(super) unsafe fn store_packs<T: Scalar, O: Op, const LANES: usize>(
    of: Lines<'_, T>,
    tile: *const Tile,
    slots: *mut Pack<T, LANES>,
    scanned: Scanned<T, LANES>,
    before: T,
    at: usize,
    lane: u32,
) {
    let Scanned { mut values, ends } = scanned;
    let mut before_row = before;
    unrolled::<PACKS>(|k| {
        // SAFETY: all lanes are here.
        let ((below, _), (row, _)) = unsafe {
            (
                warp_shuffle_up(ALL, ends[k], 1, 32),
                warp_shuffle_idx(ALL, ends[k], 31, 32),
            )
        };
        let below = if lane == 0 { O::nothing() } else { below };
        let before_pack = O::apply(before_row, below);
        let inclusive = values[k];
        values[k] = from_fn(|i| {
            let value = match (of.exclusive, i) {
                (true, 0) => O::nothing(),
                (true, _) => inclusive[i - 1],
                (false, _) => inclusive[i],
            };
            O::turned(O::apply(before_pack, value), of.flip)
        });
        before_row = O::apply(before_row, row);
    });

    // SAFETY: the caller's promise.
    let Tile { start, len, .. } = unsafe { tile.read() };
    let to = of.output.wrapping_add(start);
    if len as usize >= warp_end::<LANES>(at) && to.addr().is_multiple_of(BYTES) {
        unrolled::<PACKS>(|k| {
            let to = to.wrapping_add((at + k * 32) * LANES);
            // SAFETY: the output contains the tile; its first pack is aligned, so all are.
            unsafe {
                to.cast::<Pack<T, LANES>>()
                    .write(Pack(from_fn(|i| values[k][i])))
            };
        });
    } else {
        unrolled::<PACKS>(|k| {
            // SAFETY: this thread's slot.
            unsafe { slots.add(k * 32).write(Pack(values[k])) };
        });
        each_element::<LANES>(at, |i, place| {
            if i < len as usize {
                // SAFETY: inside the output; a slot of this thread.
                unsafe { to.add(i).write(slots.cast::<T>().add(place).read()) };
            }
        });
    }
}
