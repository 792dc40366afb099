//! Products with at most sixteen rows or columns: which kernel, how its blocks divide the work, and
//! in how many slices.

use blockwise::DeviceProperties;
use kernels::matmul::slices::MOST_SLICES;
use kernels::matmul::{few_cols, few_rows, thin};

use super::extents;
use super::vectors::lanes;
use crate::by_width::by_width;
use crate::operation::Problem;

/// A launch, but for its slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Few {
    /// Code and instance.
    pub which: [u8; 2],
    /// Groups of outputs, each of which a block owns, or several rows of threads of one.
    pub groups: usize,
    /// Threads of a block that share a group, and groups of a block.
    pub block: [u32; 2],
    pub shared_bytes: usize,
}

/// Teams by instance: threads that share a row.
pub(super) const TEAMS: [usize; 6] = [4, 8, 16, 32, 64, 128];

/// Whether there is such a kernel for the product.
pub(super) fn is_few(problem: &Problem) -> bool {
    let ([rows, _, cols], bytes) = (extents(problem), problem.ty.bytes());
    rows <= most_rows(bytes) || cols <= most_cols(bytes)
}

/// Five rows of f64 and more are those of [`mma`](kernels::matmul::mma).
const fn most_rows(bytes: usize) -> usize {
    match bytes {
        4 => few_rows::MOST_ROWS,
        _ => thin::MOST_ROWS,
    }
}

const fn most_cols(bytes: usize) -> usize {
    by_width!(bytes, T => few_cols::most_cols::<T>())
}

/// Whether it is the fastest kernel, or close to it (H100; docs/log/2026-11-26-products.md).
pub(super) fn pays(of @ [rows, inner, cols]: [usize; 3], bytes: usize) -> bool {
    if of.contains(&0) {
        return false;
    }
    if by_columns(of, bytes) {
        // With shorter rows of A, most lanes have nothing to do. Many rows of more than eight
        // columns read B from the L1 cache too often.
        let many = rows > MANY_ROWS;
        return match cols {
            1 => inner > 8 || many,
            2..=4 => inner > SHORT_ROW || many,
            5..=8 => inner > SHORT_ROW,
            _ => inner > SHORT_ROW && rows <= MOST_OF_MANY_COLS,
        };
    }
    match rows {
        1..=thin::MOST_ROWS => inner > 1,
        _ => bytes == 4 && rows <= few_rows::MOST_ROWS && inner > ROWS_SHORT,
    }
}

/// The most groups of outputs that a launch may have: a ticket each, if B is not aligned either.
pub(super) fn most_groups(of: [usize; 3], bytes: usize, device: &DeviceProperties) -> usize {
    let groups = [true, false].map(|aligned| fastest(of, bytes, aligned, device).0.groups);
    groups.into_iter().fold(0, usize::max)
}

/// The fastest launch, and its slices. `aligned` says whether B begins at a whole pack.
pub(super) fn fastest(
    of: [usize; 3],
    bytes: usize,
    aligned: bool,
    device: &DeviceProperties,
) -> (Few, usize) {
    let [rows, inner, cols] = of;
    let at_once = device.multiprocessors_to_fill() as usize;
    if by_columns(of, bytes) {
        return columns(of, bytes, at_once);
    }
    if rows <= thin::MOST_ROWS {
        return rows_thin(of, bytes, at_once);
    }
    let packs = aligned && cols.is_multiple_of(lanes(bytes));
    let across = few_rows::columns::<f32>(packs);
    let few = Few {
        which: [1, packs.into()],
        groups: cols.div_ceil(across),
        block: [few_rows::THREADS, 1],
        shared_bytes: few_rows::SHARED_BYTES,
    };
    let wanted = (ROWS_BLOCKS * at_once / few.groups.max(1)).min(inner.div_ceil(ROWS_SHORTEST));
    (few, wanted.clamp(1, ROWS_SLICES))
}

/// Blocks for a multiprocessor, the fewest elements of a slice, and the most slices, with five rows
/// and more.
const ROWS_BLOCKS: usize = 2;
const ROWS_SHORTEST: usize = 128;
const ROWS_SLICES: usize = 24;

/// The most inner elements with which other kernels are faster, and the rows from which on they are
/// not: f32 5000 × 20 × 3 takes 5.1 µs either way, 100,000 × 4 × 2 9.1 instead of 12.4.
const SHORT_ROW: usize = 32;
const MANY_ROWS: usize = 20_000;
const ROWS_SHORT: usize = 48;
/// The most rows with nine columns and more: 1000 × 1000 × 16 takes 9.9 µs (cuBLAS 16.5), 20,000 ×
/// 1000 × 16 95 (61).
const MOST_OF_MANY_COLS: usize = 4096;

/// Whether the columns are few, and not rather the rows.
fn by_columns([rows, inner, cols]: [usize; 3], bytes: usize) -> bool {
    cols <= most_cols(bytes) && (cols == 1 || rows > thin::MOST_ROWS || (rows > 1 && inner <= 2048))
}

/// One to four rows.
fn rows_thin([_, inner, cols]: [usize; 3], bytes: usize, at_once: usize) -> (Few, usize) {
    let packs = cols.is_multiple_of(lanes(bytes));
    let with = |narrow: bool, threads: u32, slices: usize| {
        let width = thin::BYTES[usize::from(!narrow)];
        let few = Few {
            which: [0, u8::from(!narrow)],
            groups: cols.div_ceil(width / bytes),
            block: [threads, 1],
            shared_bytes: 0,
        };
        (few, slices.clamp(1, MOST_SLICES))
    };
    let groups = cols.div_ceil(thin::BYTES[1] / bytes);
    if inner <= 128 {
        // As many threads as have loads, and several groups a block.
        let down = inner.div_ceil(4) * if packs { 8 } else { 128 / bytes };
        let threads = down.next_power_of_two().clamp(32, 256) as u32;
        let (few, slices) = with(false, threads, 1);
        let block = [threads, 256 / threads];
        return (Few { block, ..few }, slices);
    }
    // The rows of B that a narrow group has in flight.
    let round = 512 * 6 / (thin::BYTES[0] / if packs { 16 } else { bytes });
    if cols <= 1024 / bytes && inner > 2 * round {
        with(true, 256, (inner / 128).min(16))
    } else if cols <= 8192 / bytes && inner.saturating_mul(cols * bytes) < 8_000_000 {
        with(true, if inner > round / 2 { 512 } else { 256 }, 1)
    } else if inner > 512 {
        let threads = if groups <= at_once { 512 } else { 256 };
        with(false, threads, (at_once / groups.max(1)).min(inner / 512))
    } else {
        with(false, 256, 1)
    }
}

/// Few columns.
fn columns([rows, inner, cols]: [usize; 3], bytes: usize, at_once: usize) -> (Few, usize) {
    let least = few_cols::least_team(cols);
    let packs = cols == 1 && inner.is_multiple_of(lanes(bytes));
    let lanes = if packs { lanes(bytes) } else { 1 };
    // Loads of A in each row and thread. Where rows fill the device, larger teams only add sums:
    // 5888 × 615 × 1 takes 16.7 µs in teams of 128 (cuBLAS 11.2), 10,965 × 65 × 4 10.4 in teams of
    // four and 7.5 in teams of eight.
    let many = rows > 16 * at_once;
    let each = if many && !packs { 16 } else { 3 };
    let least = if many && cols > 1 {
        least.max(8)
    } else {
        least
    };
    let mut team = few_cols::THREADS as usize;
    while team > least && team * lanes * each > inner {
        team /= 2;
    }
    let few = Few {
        which: [2, (team.trailing_zeros() - TEAMS[0].trailing_zeros()) as u8],
        groups: rows.div_ceil(few_cols::rows_of(team)),
        block: [few_cols::THREADS, 1],
        shared_bytes: 0,
    };
    let wanted = 2 * at_once / few.groups.max(1);
    (few, wanted.min(inner / 1024).clamp(1, MOST_SLICES))
}
