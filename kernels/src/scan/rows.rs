//! Short contiguous lines: a warp scans one at a time, or several side by side.
//!
//! A line of at most 32 elements gets the smallest sufficient power of two of lanes, and the warp
//! holds as many lines as fit. A longer line gets the whole warp, which goes through it in steps of
//! 32 elements; the loads and shuffles of [`STEPS`] steps are in flight together.

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;
use cuda_std::warp::{warp_shuffle_idx, warp_shuffle_up};

use super::Lines;
use crate::number::Scalar;
use crate::reduce::Op;

/// Steps whose loads are in flight together, one element of each lane per step.
const STEPS: usize = 8;
const WARP: usize = 32;
const ALL: u32 = u32::MAX;

/// The binary logarithm of the number of lanes that scan a line.
#[inline(always)]
const fn width_log(extent: usize) -> u32 {
    match extent {
        0 | 1 => 0,
        2..WARP => (extent - 1).ilog2() + 1,
        _ => WARP.ilog2(),
    }
}

/// The number of times that a warp takes as many lines as it can hold, for all lines.
pub(super) const fn turns(lines: usize, extent: usize) -> usize {
    lines.div_ceil(WARP >> width_log(extent))
}

/// N steps, of lines with `1 << log` lanes each: `values` scanned, and the exclusive scan, which is
/// the identity in a line's first lane.
///
/// # Safety
/// All lanes call it.
#[inline(always)]
unsafe fn steps<T: Scalar, O: Op, const N: usize>(mut values: [T; N], log: u32) -> [[T; N]; 2] {
    let in_line = thread::thread_idx_x() as usize & ((1 << log) - 1);
    let mut distance = 1;
    while distance < 1 << log {
        unrolled::<N>(|step| {
            // SAFETY: all lanes are here.
            let (below, _) = unsafe { warp_shuffle_up(ALL, values[step], distance, 32) };
            if in_line >= distance as usize {
                values[step] = O::apply(below, values[step]);
            }
        });
        distance *= 2;
    }
    let before = from_fn(|step| {
        // SAFETY: all lanes are here.
        let (below, _) = unsafe { warp_shuffle_up(ALL, values[step], 1, 32) };
        if in_line == 0 { O::nothing() } else { below }
    });
    [values, before]
}

/// # Safety
/// As for [`walks::scan`](super::walks::scan), of blocks of whole warps; lines are runs of
/// memory.
#[inline(always)]
pub(super) unsafe fn scan<T: Scalar, O: Op>(of: Lines<'_, T>) {
    let thread = thread::thread_idx_x();
    let warps = thread::block_dim_x() as usize / WARP;
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread as usize % WARP;
    let (lines, log) = (of.len(), width_log(of.extent));
    let together = WARP >> log;

    let load = |line: usize, i: usize| {
        if line < lines && i < of.extent {
            // SAFETY: an element of a line.
            let element = unsafe { of.input.as_ptr().add(line * of.extent + i).read() };
            O::turned(element, of.flip)
        } else {
            O::nothing()
        }
    };
    // `start` is the prefix of the step, `before` and `value` its scans without and with the
    // element.
    let store = |line: usize, i: usize, start: T, [value, before]: [T; 2]| {
        if line < lines && i < of.extent {
            let with = O::apply(start, value);
            let without = O::apply(start, before);
            let result = O::turned(if of.exclusive { without } else { with }, of.flip);
            // SAFETY: inside the output, as the element is in the input; only this lane has it, and
            // the line's last element too.
            unsafe {
                of.output.add(line * of.extent + i).write(result);
                if of.has_after && i + 1 == of.extent {
                    of.after.add(line).write(O::turned(with, of.flip));
                }
            }
        }
    };
    let mut first = (thread::block_idx_x() as usize * warps + warp) * together;
    while first < lines {
        if of.extent <= WARP {
            let (line, i) = (first + (lane >> log), lane & ((1 << log) - 1));
            // SAFETY: all lanes are here.
            let [[value], [before]] = unsafe { steps::<T, O, 1>([load(line, i)], log) };
            store(line, i, of.start::<O>(line), [value, before]);
        } else {
            let mut start = of.start::<O>(first);
            let mut from = 0;
            while from < of.extent {
                let at = |step: usize| from + step * WARP + lane;
                let loaded = from_fn(|step| load(first, at(step)));
                // SAFETY: all lanes are here.
                let [values, befores] = unsafe { steps::<T, O, STEPS>(loaded, log) };
                unrolled::<STEPS>(|step| {
                    store(first, at(step), start, [values[step], befores[step]]);
                    // SAFETY: all lanes are here.
                    let (all, _) = unsafe { warp_shuffle_idx(ALL, values[step], 31, 32) };
                    start = O::apply(start, all);
                });
                from += STEPS * WARP;
            }
        }
        first += thread::grid_dim_x() as usize * warps * together;
    }
}
