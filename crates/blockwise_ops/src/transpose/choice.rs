//! The choice of the fastest kernel.

use kernels::pack;
use kernels::transpose::aligned;

use super::{ALIGNED, NAIVE, PACKS, PADDED, QUADS, THIN};
use crate::operation::{Task, Variant};

/// Bytes of a matrix up to which [`NAIVE`] is the fastest: 10 × 25 takes it 3.3 µs, [`PADDED`] 3.5.
const NAIVE_BYTES: usize = 4096;
/// Rows up to which [`NAIVE`] is the fastest: of any length, and of a matrix of at most
/// [`NAIVE_FEW`] bytes. 20 × 4470 of `f64` takes [`NAIVE`] 5.3 µs and [`PADDED`] 3.8.
const NAIVE_ROWS: [usize; 2] = [8, 20];
const NAIVE_FEW: usize = 200_000;
/// The number of [`idle_tiles`] of `padded` from which on [`QUADS`] is faster, although it starts 1
/// µs later.
const IDLE_QUADS: usize = 700;
/// Bytes per multiprocessor from which on `quads` is faster than `padded`, whatever the shape.
const QUADS_EACH: usize = 90_000;

/// The short side from which on few of [`PACKS`]'s tiles are partly empty: 106,351 × 134 takes it
/// 49.5 µs and `padded` 45.7, 265 × 31,007 27.2 and `thin` 30.5.
const PACKS_SHORT: usize = 144;

/// The sizes at which the fastest kernel changes, in bytes of the matrix per multiprocessor.
struct Bounds {
    /// Up to here `padded` and its small tiles fill the device best: 1000² of `f32` takes it 6.6 µs
    /// and `aligned` 15.4.
    padded: usize,
    /// The same where rows of the output begin at whole packs: then `padded` writes whole sectors.
    /// 38,844 × 526 takes it 53.7 µs and `thin` 55.4.
    padded_whole: usize,
    /// Up to here [`THIN`] is faster than [`ALIGNED`] whatever the shape: 4390 × 2420 takes it 30.6
    /// µs and `aligned` 35.4, 8000² 147 and 137.
    thin: usize,
    /// The longest short side for which `thin` is faster, whatever the size, unless the columns are
    /// one whole tile of `aligned`: 132 × 154,351 takes them 67 and 104 µs.
    thin_to: usize,
}

const WIDE: Bounds = Bounds {
    padded: 105_000,
    padded_whole: 160_000,
    thin: 460_000,
    thin_to: 256,
};
/// For more rows than columns: `padded` then writes whole lines of memory, and reads short rows.
const TALL: Bounds = Bounds {
    padded: 180_000,
    padded_whole: 650_000,
    thin: 400_000,
    thin_to: 512,
};

/// Tiles of `padded` beyond the number that the matrix's bytes would fill. A block starts every 1.7
/// ns, in which memory moves 32 rows of 128 bytes: tiles with less are limited by the start of
/// blocks.
fn idle_tiles(rows: usize, cols: usize, bytes: usize) -> usize {
    const TILE: usize = kernels::transpose::TILE as usize;
    let tiles = rows.div_ceil(TILE).saturating_mul(cols.div_ceil(TILE));
    tiles.saturating_sub(bytes / (128 * TILE))
}

/// The kernel that is fastest for a matrix, by three sweeps of 1,863 sizes on an H200
/// (docs/log/2026-11-23-transposes.md).
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let [rows, cols, ..] = task.problem.extents;
    let width = task.problem.ty.bytes();
    // Only `padded` has instances for narrow words.
    if width < 4 {
        return &PADDED;
    }
    // A copy.
    if rows.min(cols) == 1 {
        return &THIN;
    }
    let whole = task.in_packs(&[rows, cols]);
    let bytes = rows.saturating_mul(cols).saturating_mul(width);
    let each = bytes / task.device.multiprocessors_to_fill() as usize;
    let idle = idle_tiles(rows, cols, bytes);
    // `thin` starts 3 µs later than `padded`, of `f64` 2. Every second row of `f64` begins at a
    // whole pack, so that `packs` gains less.
    let (idle_thin, packs) = match width {
        4 => (2300, 220_000),
        _ => (1300, 300_000),
    };
    let bounds = if rows > cols { TALL } else { WIDE };
    // Rows of the output.
    let whole_rows = rows.is_multiple_of(pack::BYTES / width);
    let padded = match whole_rows {
        true => bounds.padded_whole,
        false => bounds.padded,
    };
    let one_tile = cols == aligned::TILE.threads as usize / width;
    let naive = bytes <= NAIVE_BYTES
        || rows <= NAIVE_ROWS[0]
        || rows <= NAIVE_ROWS[1] && bytes <= NAIVE_FEW;
    if whole && (idle > IDLE_QUADS || each > QUADS_EACH) {
        &QUADS
    } else if each > packs && rows.min(cols) > PACKS_SHORT && (rows <= cols || !whole_rows) {
        &PACKS
    } else if idle > idle_thin {
        &THIN
    } else if each <= padded && naive {
        &NAIVE
    } else if each <= padded {
        &PADDED
    } else if each <= bounds.thin || rows.min(cols) <= bounds.thin_to && !one_tile {
        &THIN
    } else if one_tile {
        &ALIGNED
    } else {
        &PACKS
    }
}
