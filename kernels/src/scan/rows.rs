//! Short lines that are runs of memory: a warp scans one, or its lanes several.
//!
//! A line of at most 32 elements has the smallest power of two of lanes that is enough, and the warp
//! as many lines as fit, [`STEPS`] times. A longer one has the warp, which goes through it in steps
//! of 32 elements; the loads and the shuffles of [`STEPS`] of them are in flight together.

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;
use cuda_std::warp::{warp_shuffle_idx, warp_shuffle_up};

use super::{Element, Lines, Op};

/// Elements of a lane that are in flight together.
const STEPS: usize = 8;
const WARP: usize = 32;
const ALL: u32 = u32::MAX;

/// Lanes of a line.
#[inline(always)]
const fn width(extent: usize) -> usize {
    if extent >= WARP {
        WARP
    } else {
        extent.next_power_of_two()
    }
}

/// Lines that a warp scans at once.
#[inline(always)]
const fn together(extent: usize) -> usize {
    if extent > WARP {
        1
    } else {
        WARP / width(extent) * STEPS
    }
}

/// How often a warp scans as many lines as it can, for all of them.
pub(super) const fn turns(lines: usize, extent: usize) -> usize {
    lines.div_ceil(together(extent))
}

/// # Safety
/// As for [`columns::scan`](super::columns::scan), of blocks of whole warps; lines are runs of memory.
#[inline(always)]
pub(super) unsafe fn scan<T: Element, O: Op>(of: Lines<'_, T>) {
    let thread = thread::thread_idx_x();
    let warps = thread::block_dim_x() as usize / WARP;
    // SAFETY: a warp is 32 threads along x.
    let warp = unsafe { assume_warp_uniform(thread / 32) } as usize;
    let lane = thread as usize % WARP;
    let width = width(of.extent);
    let is_long = of.extent > WARP;
    let (in_line, lines, together) = (lane % width, of.len(), together(of.extent));

    let mut first = (thread::block_idx_x() as usize * warps + warp) * together;
    while first < lines {
        let mut value = if is_long {
            of.start::<O>(first)
        } else {
            O::identity()
        };
        let mut from = 0;
        while from < of.extent {
            // The line of a step and the element in it.
            let place = |step: usize| {
                if is_long {
                    (first, from + step * WARP + lane)
                } else {
                    (first + step * (WARP / width) + lane / width, in_line)
                }
            };
            let mut scanned: [T; STEPS] = from_fn(|step| {
                let (line, i) = place(step);
                if line < lines && i < of.extent {
                    // SAFETY: an element of a line.
                    let element = unsafe { of.input.as_ptr().add(line * of.extent + i).read() };
                    O::turned(element, of.flip)
                } else {
                    O::identity()
                }
            });
            macro_rules! rounds {
                ($($delta:literal)*) => {$(
                    if $delta < width {
                        unrolled::<STEPS>(|step| {
                            // SAFETY: all lanes are here.
                            let (below, _) = unsafe { warp_shuffle_up(ALL, scanned[step], $delta, 32) };
                            if in_line >= $delta {
                                scanned[step] = O::apply(below, scanned[step]);
                            }
                        });
                    }
                )*};
            }
            rounds!(1 2 4 8 16);
            unrolled::<STEPS>(|step| {
                let (line, i) = place(step);
                // SAFETY: all lanes are here.
                let (below, all) = unsafe {
                    let (below, _) = warp_shuffle_up(ALL, scanned[step], 1, 32);
                    let (all, _) = warp_shuffle_idx(ALL, scanned[step], 31, 32);
                    (below, all)
                };
                let start = if is_long { value } else { of.start::<O>(line) };
                let with = O::apply(start, scanned[step]);
                let without = if in_line == 0 {
                    start
                } else {
                    O::apply(start, below)
                };
                if line < lines && i < of.extent {
                    let result = O::turned(if of.exclusive { without } else { with }, of.flip);
                    // SAFETY: inside the output, as the element is in the input; only this lane
                    // has it, and the line's last element too.
                    unsafe {
                        of.output.add(line * of.extent + i).write(result);
                        if of.has_after && i + 1 == of.extent {
                            of.after.add(line).write(O::turned(with, of.flip));
                        }
                    }
                }
                value = O::apply(value, all);
            });
            from += if is_long { STEPS * WARP } else { of.extent };
        }
        first += thread::grid_dim_x() as usize * warps * together;
    }
}
