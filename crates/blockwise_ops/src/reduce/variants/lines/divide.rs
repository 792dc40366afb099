//! How blocks divide an array whose lines are reduced.

use blockwise::{DeviceProperties, Shape, Type};
use kernels::pack::BYTES;
use kernels::reduce::axis::{
    ABREAST, IN_FLIGHT, LONGEST, MOST, PACKED, PACKS, SHORT, THREADS, TICKETS, Tiling, way,
};

use crate::operation::{Axis, Problem, Task};
use crate::reduce::problem::{self, Code};

/// Resident threads of a multiprocessor, with 64 registers each.
const RESIDENT: usize = 1024;
/// The most resident blocks of a multiprocessor.
const BLOCKS: usize = 16;
const WARP: usize = 32;

/// The most additions in a thread's share, if there are tickets enough: together with the rest of
/// an element's path they stay below [`PATH`](kernels::reduce::addend::PATH).
const SHARE: usize = 3072;

/// The number of columns from which on a tile has only some of them.
const WIDE: usize = 32;

/// The most threads per line in such tiles, so that each row of a tile has whole sectors.
const MOST_ROWS: usize = 8;

/// About this many elements per thread, of 4 and of 8 bytes, if outputs fill the device and tiles
/// have all columns. With 18 of 4 bytes, the thread would wait for the last two as long as for the
/// first 16: 768 × 128 × 1152 takes 201 µs, with 72 it takes 157 (H100).
const PLENTY: [usize; 2] = [48, 20];
/// The same for contiguous lines: 200,000 × 40 of `f32` takes 13 µs with 20 elements, 17 with 40
/// (H200).
const PLENTY_OF_RUN: usize = 20;

/// The fewest elements per thread. In sums along contiguous lines it is the number that a thread
/// has in flight.
const FEWEST: usize = 8;
/// The fewest elements per thread in contiguous lines, if one block for each multiprocessor has
/// room for all threads.
const FEW: usize = 6;

/// In contiguous lines that more than fill the device, a thread has at least this many groups of
/// loads: 40,000 × 700 of `f64` takes 58 µs with five groups, 66 with two and a half; 16384 × 9728
/// of `f32` 148 µs with 64 threads a line and 186 with 256 (H200).
const GROUPS: usize = 5;
/// The fewest and the most threads of such a line.
const MANY: [usize; 2] = [16, 64];

/// Threads of a block with contiguous lines: small blocks end, and are replaced, one by one. 1024²
/// of `f32` along the last axis takes 4.0 µs, with 256 threads 4.5 (H200).
const SMALL: usize = 64;
/// Threads per multiprocessor from which on a line gets one warp instead of two.
const HALF: usize = 384;

/// Groups of loads of a thread below which lines are not divided into parts, which would cost 1.4
/// µs.
const UNDIVIDED: usize = 4;
/// The same for several contiguous lines: 128 × 17,408 of `f64` takes 13.5 µs in one part and 15 in four,
/// 100 × 40,000 of `f32` 19.1 and 15.4 (H200).
const UNDIVIDED_RUN: usize = 9;
/// Groups of loads of a thread from which on there are parts for twice the blocks that the device
/// holds, so that the last blocks end together.
const LONG: usize = 24;

/// The most parts per thread of a line: the last block folds them.
const PARTS: usize = 4;

/// A problem's lines. If each has one element, the reduction is a copy: of columns of one row, if
/// there are packs for each multiprocessor, else of contiguous lines.
pub(super) fn axis(problem: &Problem, filling: usize) -> Axis {
    let axis = problem::axis(problem);
    if axis.extent != 1 {
        return axis;
    }
    let outputs = axis.outer * axis.inner;
    let lanes = BYTES / problem.ty.bytes();
    let has_packs = outputs.is_multiple_of(lanes) && outputs >= SMALL * lanes * filling;
    let (outer, inner) = if has_packs {
        (1, outputs)
    } else {
        (outputs, 1)
    };
    Axis {
        outer,
        extent: 1,
        inner,
    }
}

/// How blocks divide an array, without parts. `filling` is the number of multiprocessors.
///
/// A line gets as many threads as possible while each still has several loads in flight, but not
/// more than let all blocks be resident: folding the threads' values takes time too.
pub(super) fn undivided(axis: Axis, ty: Type, is_sum: bool, filling: usize) -> Tiling {
    if axis.inner == 1 {
        let each = if is_sum { in_flight(ty) } else { FEWEST };
        return of_runs(axis, each, in_flight(ty), filling);
    }
    // A column that a thread has in flight needs no other: 16 × 10,112 of `f32` takes 4.90 µs, with
    // two threads a column 5.09 (H200).
    let useful = match axis.inner < WIDE || axis.extent > in_flight(ty) {
        true => useful(axis.extent, FEWEST),
        false => 1,
    };
    let (most, least) = match axis.inner < WIDE {
        true => (useful, plenty(axis.extent, PLENTY[ty.bytes() / 8])),
        false => (useful.min(MOST_ROWS), 1),
    };
    let mut threads = most;
    loop {
        let tiling = with_threads(axis, threads.min(THREADS as usize), useful);
        if all(axis, &tiling) <= at_once(THREADS as usize, filling) {
            return tiling;
        }
        if threads <= least {
            // A pack of columns has one thread.
            if axis.inner < WIDE || axis.extent <= PACKED {
                return tiling;
            }
            // Smaller tiles end together, and each thread needs no more elements than it has in
            // flight: 128 × 147,456 of `i64` takes 48.4 µs with eight threads, 56.2 with one
            // (H200).
            let wanted = plenty(axis.extent, in_flight(ty)).min(most);
            return with_threads(axis, wanted, useful);
        }
        threads /= 2;
    }
}

/// The same for contiguous lines, whose threads fold by shuffles. A thread has at least `each`
/// elements, and `group` of them in flight.
fn of_runs(axis: Axis, each: usize, group: usize, filling: usize) -> Tiling {
    let (extent, outer) = (axis.extent, axis.outer.max(1));
    let mut rows = useful(extent, each).min(THREADS as usize);
    let few = useful(extent, FEW).min(WARP);
    if extent > FEWEST && outer.saturating_mul(few) <= SMALL * filling {
        rows = rows.max(few);
    }
    let [few, many] = MANY;
    let long = plenty(extent, GROUPS * group).clamp(few, many);
    // More threads, if a thread's sum would be too long.
    let long = long.max(useful(extent, group * SHARE));
    let least = plenty(extent, PLENTY_OF_RUN).min(long);
    // With more than two groups of loads per thread of two warps, two are faster than one: 1736 ×
    // 4176 of `f32` takes 15.5 µs, with one 16.6 (H200).
    let is_half = extent <= 2 * 2 * WARP * group && outer.saturating_mul(WARP) >= HALF * filling;
    loop {
        let threads = rows.max(SMALL);
        let lines = (threads / rows).min(outer);
        let is_resident = outer.div_ceil(lines) <= at_once(threads, filling);
        if rows <= least || is_resident && !(rows == 2 * WARP && is_half) {
            return Tiling {
                cols: 1,
                rows: rows as u32,
                lines: lines as u32,
                part: extent.max(1),
                parts: 1,
            };
        }
        rows /= 2;
    }
}

/// The threads of a line with at most `each` elements per thread: a power of two.
fn useful(extent: usize, each: usize) -> usize {
    extent.div_ceil(each).max(1).next_power_of_two()
}

/// The threads of a line with at least `each` elements per thread: a power of two.
fn plenty(extent: usize, each: usize) -> usize {
    1 << (extent / each).max(1).ilog2()
}

/// How blocks divide an array with `wanted` threads per line, a power of two.
fn with_threads(axis: Axis, wanted: usize, useful: usize) -> Tiling {
    let (threads, inner) = (THREADS as usize, axis.inner.max(1));
    let cols = match inner < WIDE {
        true => inner,
        false => inner.div_ceil(inner.div_ceil(threads / wanted)),
    };
    let most = threads / cols;
    let lines = (most / wanted).clamp(1, axis.outer.max(1));
    let rows = match lines {
        // One line needs no shift, so its number of threads need not be a power of two.
        1 => most.min(useful.max(wanted)),
        _ => wanted,
    };
    Tiling {
        cols: cols as u32,
        rows: rows as u32,
        lines: lines as u32,
        part: axis.extent.max(1),
        parts: 1,
    }
}

/// Tiles along the columns and along the outer indices.
fn tiles(axis: Axis, tiling: &Tiling) -> [usize; 2] {
    [
        axis.inner.div_ceil(tiling.cols as usize),
        axis.outer.div_ceil(tiling.lines as usize),
    ]
}

fn all(axis: Axis, tiling: &Tiling) -> usize {
    tiles(axis, tiling)
        .into_iter()
        .fold(1, usize::saturating_mul)
}

/// The elements of a type that a thread has in flight.
pub(super) const fn in_flight(ty: Type) -> usize {
    IN_FLIGHT / ty.bytes()
}

/// The same with about `parts` parts: all but the last have the same number of rows.
pub(super) fn divided(tiling: Tiling, extent: usize, parts: usize) -> Tiling {
    let part = extent.div_ceil(parts.max(1)).clamp(1, LONGEST);
    Tiling {
        part,
        parts: extent.div_ceil(part).max(1),
        ..tiling
    }
}

/// How blocks divide the array of a task.
pub(super) fn tiling(task: &Task<'_>) -> Tiling {
    let filling = filling(task.device);
    let axis = axis(task.problem, filling);
    let is_sum = Code::of(task.problem).is_sum();
    let one = undivided(axis, task.problem.ty, is_sum, filling);
    let (tiles, rows) = (all(axis, &one).max(1), one.rows as usize);
    let at_once = at_once((one.cols * one.rows * one.lines) as usize, filling);
    let parts = if tiles > TICKETS {
        1
    } else if let Some(parts) = task.options.count {
        parts.get() as usize
    } else {
        let group = rows * in_flight(task.problem.ty);
        let groups = axis.extent / group;
        let undivided = match axis.inner == 1 && tiles > 1 {
            true => UNDIVIDED_RUN,
            false => UNDIVIDED,
        };
        let wanted = match groups < undivided {
            true => 1,
            false => (at_once / tiles).clamp(1, groups.min(PARTS * rows)),
        };
        // Columns that fill more than half of the device in one part are divided later: 536 ×
        // 97,920 of `f32` takes 60.7 µs, in two parts 65.7 (H200).
        let long = match axis.inner > 1 && wanted == 1 {
            true => 2 * LONG,
            false => LONG,
        };
        let wanted = match groups / wanted >= long {
            true => (2 * at_once / tiles).clamp(1, PARTS * rows),
            false => wanted,
        };
        // More blocks, if a thread's sum would be too long.
        wanted.max(axis.extent.div_ceil(group * SHARE))
    };
    divided(one, axis.extent, parts)
}

/// If blocks with one tile of short lines each would fill the device this many times, they get
/// several tiles.
const ROUNDS: usize = 2;

/// A launch's blocks along the columns and along the outer indices, and a block's threads along
/// both. Blocks have one tile each, or packs of columns. With many tiles of short lines there are
/// fewer blocks than tiles: a thread then has several lines in flight.
pub(super) fn blocks(
    axis: Axis,
    tiling: &Tiling,
    ty: Type,
    filling: usize,
) -> ([usize; 2], [u32; 2]) {
    let lanes = BYTES / ty.bytes();
    let is_one = tiling.rows == 1 && tiling.parts == 1;
    let comes_in_packs = axis.inner.is_multiple_of(lanes) && axis.inner >= SMALL * lanes;
    let packs = axis.inner.div_ceil(SMALL * lanes);
    // At most half of what can be counted: it is doubled below.
    let all_packs = packs.saturating_mul(axis.outer).min(usize::MAX / 2);
    // With fewer blocks, a thread per column is faster: 8 × 216 of `f64` takes 0.87 of the time.
    let is_enough = match axis.extent <= 2 * PACKS {
        true => all_packs >= filling,
        false => 2 * all_packs >= at_once(SMALL, filling),
    };
    if is_one && axis.extent <= PACKED && comes_in_packs && is_enough {
        // With one or two rows, a pack is half of what a thread has in flight.
        let is_half = axis.extent <= PACKS / 2 && 2 * all_packs >= 3 * at_once(SMALL, filling);
        let each = if is_half { 2 } else { 1 };
        return ([packs.div_ceil(each), axis.outer], [SMALL as u32, 1]);
    }
    let [wide, high] = tiles(axis, tiling);
    let threads = [tiling.cols, tiling.rows * tiling.lines];
    let rounds = all(axis, tiling) / at_once((threads[0] * threads[1]) as usize, filling);
    let is_short = is_one && axis.extent <= SHORT[ty.bytes() / 8];
    let each = match is_short && rounds >= ROUNDS {
        true => ABREAST,
        false => 1,
    };
    // Columns of one matrix, as runs.
    if is_one && axis.outer == 1 && each == 1 && (2..=MOST).contains(&axis.inner) {
        return ([1, axis.inner.div_ceil(SMALL)], [1, SMALL as u32]);
    }
    let blocks = match wide >= each {
        true => [wide.div_ceil(each), high],
        false => [wide, high.div_ceil(each)],
    };
    (blocks, threads)
}

/// How the blocks of a launch fold their lines: short ones side by side, if a block has several
/// tiles.
pub(super) fn way_of(axis: Axis, tiling: &Tiling, ty: Type, shape: Shape) -> usize {
    let Shape { grid, block, .. } = shape;
    if tiling.parts != 1 {
        return way::TILES;
    }
    let columns = grid.x as usize * block.x as usize;
    let lines = grid.z as usize * block.y as usize;
    let is_short = tiling.rows == 1 && axis.extent <= PACKED;
    let is_run = axis.inner == 1 || axis.outer == 1 && tiling.rows == 1;
    let is_run = is_run && block.x == 1 && tiling.rows.is_power_of_two();
    let has_several = is_short && (columns < axis.inner || lines < axis.outer);
    if is_run && axis.inner > 1 {
        way::RUNS
    } else if has_several && columns < axis.inner && axis.inner.is_multiple_of(BYTES / ty.bytes()) {
        way::PACKS
    } else if has_several && axis.extent <= SHORT[ty.bytes() / 8] {
        way::SHORT
    } else if is_run && axis.outer * tiling.rows as usize <= MOST {
        way::RUNS
    } else {
        way::TILES
    }
}

pub(super) fn filling(device: &DeviceProperties) -> usize {
    device.multiprocessors_to_fill() as usize
}

/// The blocks of this many threads that a device holds at once.
fn at_once(threads: usize, filling: usize) -> usize {
    (RESIDENT / threads.next_multiple_of(WARP)).min(BLOCKS) * filling
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On an H200; the launches that docs/log/2026-11-26-axes.md measured.
    #[test]
    fn runs_of_memory_have_small_blocks() {
        let of = |ty, outer, extent| {
            let axis = Axis {
                outer,
                extent,
                inner: 1,
            };
            let Tiling {
                cols, rows, lines, ..
            } = undivided(axis, ty, true, 132);
            [cols, rows, lines]
        };
        assert_eq!(of(Type::F64, 224, 96), [1, 16, 4]);
        assert_eq!(of(Type::F32, 1024, 1024), [1, 64, 1]);
        assert_eq!(of(Type::F32, 8320, 128), [1, 8, 8]);
        assert_eq!(of(Type::F64, 20_000, 64), [1, 4, 16]);
        assert_eq!(of(Type::F32, 200_000, 40), [1, 2, 32]);
        assert_eq!(of(Type::F32, 3_000_000, 5), [1, 1, 64]);
        assert_eq!(of(Type::F64, 768, 4096), [1, 128, 1]);
        assert_eq!(of(Type::F64, 1000, 5000), [1, 128, 1]);
        // More lines than the device holds.
        assert_eq!(of(Type::F64, 40_000, 700), [1, 16, 4]);
        assert_eq!(of(Type::F64, 16_384, 1280), [1, 32, 2]);
        assert_eq!(of(Type::F32, 16_384, 9728), [1, 64, 1]);
        assert_eq!(of(Type::F32, 5000, 4_000_000), [1, 128, 1]);
        // Two warps a line, unless lines are short and many.
        assert_eq!(of(Type::F32, 1736, 4176), [1, 64, 1]);
        assert_eq!(of(Type::I64, 3856, 432), [1, 32, 2]);
        assert_eq!(of(Type::F32, 1, 1 << 30), [1, 256, 1]);
        assert_eq!(of(Type::F32, 5, 0), [1, 1, 5]);
    }

    /// On an H200: as many as leave each all that it has in flight.
    #[test]
    fn columns_have_several_threads() {
        let of = |ty, extent, inner| {
            let axis = Axis {
                outer: 1,
                extent,
                inner,
            };
            undivided(axis, ty, true, 132).rows
        };
        assert_eq!(of(Type::I64, 128, 147_456), 8);
        assert_eq!(of(Type::F32, 65, 147_456), 4);
        assert_eq!(of(Type::F32, 64, 147_456), 1);
        assert_eq!(of(Type::F32, 1000, 100), 10);
        // What a thread has in flight.
        assert_eq!(of(Type::F32, 16, 10_112), 1);
        assert_eq!(of(Type::F32, 17, 10_112), 4);
        assert_eq!(of(Type::I64, 9, 10_112), 2);
    }

    /// On an H200.
    #[test]
    fn short_lines_are_several_at_a_time() {
        let of = |ty, outer, extent, inner| {
            let axis = Axis {
                outer,
                extent,
                inner,
            };
            blocks(axis, &undivided(axis, ty, true, 132), ty, 132).0
        };
        // Four abreast, where there are enough.
        let floats = |outer, extent, inner| of(Type::F32, outer, extent, inner);
        assert_eq!(floats(10_000_000, 2, 1), [1, 156_250_usize.div_ceil(4)]);
        assert_eq!(floats(1, 5, 2_563_327), [10_013_usize.div_ceil(4), 1]);
        assert_eq!(floats(300_000, 5, 1), [1, 4688 / 4]);
        // Tiles of which most run at once, and longer lines.
        assert_eq!(floats(270_000, 5, 1), [1, 4219]);
        assert_eq!(floats(1_000_000, 7, 1), [1, 15_625]);
        // Columns of one matrix, with a thread each.
        assert_eq!(floats(1, 7, 2_563_327), [1, 40_052]);
        assert_eq!(floats(1, 8, 600), [1, 10]);
        // Packs.
        assert_eq!(floats(1, 5, 2_563_328), [10_013, 1]);
        assert_eq!(floats(3, 64, 2_563_328), [10_013, 3]);
        assert_eq!(floats(1, 3, 132 * 256), [132, 1]);
        assert_eq!(floats(1, 3, 131 * 256), [1, 131 * 4]);
        assert_eq!(floats(128, 16, 1136), [5, 128]);
        assert_eq!(of(Type::F64, 1, 4, 200_000), [1563, 1]);
        assert_eq!(of(Type::F64, 1, 1, 527_000), [4118 / 2, 1]);
        assert_eq!(of(Type::F64, 1, 1, 300_000), [2344, 1]);
    }

    /// The kernel counts them in 32 bits.
    #[test]
    fn there_are_no_more_parts_than_rows_of_a_part() {
        let fits = |parts| Tiling::fits(1, [1; 3], parts, 1, parts);
        assert!(fits(LONGEST) && !fits(LONGEST + 1));
    }
}
