//! How long batches of products of few rows or columns take.

use kernels::matmul::{few_rows, narrow};

use super::super::cost::moved;
use super::super::extents;
use super::super::vectors::lanes;
use super::{Division, EIGHT, fastest, is_few, of_thin};
use crate::operation::Task;

/// The costs of a division's launch for a batch, in nanoseconds. They fit 633 launches on an H200,
/// of [`of_thin`] too then (docs/log/2026-11-28-choice-of-batches.md): half of the times are within
/// 7 % of the model, nine in ten within 22.
struct Rates {
    /// A launch that computes nothing, and what it takes more where last blocks add slices.
    launch: f64,
    slices: f64,
    /// A block of a multiprocessor, an element or a load of its sums, and the latency of a load in
    /// each wave.
    block: f64,
    element: f64,
    load: f64,
    /// A byte from or to memory.
    moved: f64,
}

const fn rates([launch, slices, block, element, load, moved]: [f64; 6]) -> Rates {
    Rates {
        launch,
        slices,
        block,
        element,
        load,
        moved,
    }
}
/// From 16 launches (docs/log/2026-11-30-addresses.md).
const ROWS: Rates = rates([4490.0, 1020.0, 968.0, 1.0, 1.5, 7.8e-5]);
const NARROW: Rates = rates([5030.0, 4750.0, 510.0, 18.6, 127.0, 1.01e-4]);
const COLUMNS: Rates = rates([4470.0, 2120.0, 379.0, 5.77, 109.0, 1.2e-4]);
const COLUMNS_OF_F64: Rates = rates([5180.0, 269.0, 279.0, 27.3, 122.0, 1.23e-4]);

/// Of one column, for which the kernel is another one: fits to 26 batches of each type
/// (docs/log/2026-11-30-copies.md), half of them within 7 % of the model, the others within 25.
const ONE_COLUMN: Rates = rates([5080.0, 785.0, 219.0, 0.0, 31.1, 1.64e-4]);
const ONE_COLUMN_OF_F64: Rates = rates([5400.0, 1540.0, 203.0, 0.0, 57.0, 1.83e-4]);

/// Blocks of a multiprocessor, of `few_cols`, `few_rows` and `narrow`.
const OF_COLUMNS: usize = 8;
const OF_ROWS: usize = 2;
const OF_NARROW: usize = 4;

/// Nanoseconds of the fastest launch for a batch of products; `None` if the kernels cannot compute
/// it, or have nothing to compute.
pub(in crate::matmul) fn time(task: &Task<'_>) -> Option<f64> {
    let problem = task.problem;
    if !is_few(problem) || problem.extents.contains(&0) {
        return None;
    }
    let (of @ [rows, inner, cols], batch) = (extents(problem), problem.extents[3]);
    let bytes = problem.ty.bytes();
    let at_once = task.device.multiprocessors_to_fill() as usize;
    let (division, slices) = fastest(task);
    let len = inner.div_ceil(slices);
    // Blocks of a multiprocessor, elements and loads of each.
    let (rates, resident, elements, loads) = match division {
        Division::Thin { lanes, threads } => {
            let launch = [lanes, threads as usize, slices];
            let of = (of, batch);
            return Some(of_thin::time(of, bytes, task.aligned, launch, at_once));
        }
        Division::Rows => {
            let own = if rows <= EIGHT {
                EIGHT
            } else {
                few_rows::MOST_ROWS
            };
            (ROWS, OF_ROWS, len.saturating_mul(own), len)
        }
        Division::Columns { team, packs } => {
            let each = if packs { lanes(bytes) } else { 1 };
            let loads = len.div_ceil(team * each);
            let rates = match (cols, bytes) {
                (1, 4) => ONE_COLUMN,
                (1, _) => ONE_COLUMN_OF_F64,
                (_, 4) => COLUMNS,
                _ => COLUMNS_OF_F64,
            };
            (rates, OF_COLUMNS, loads.saturating_mul(1 + cols), loads)
        }
        Division::Narrow { wide } => {
            let steps = len.div_ceil(narrow::STEP);
            (NARROW, OF_NARROW, steps.saturating_mul(wide), steps)
        }
    };
    let groups = division.launch(of, bytes, [task.aligned; 2]).groups;
    let all = groups.saturating_mul(batch).saturating_mul(slices);
    let blocks = all.div_ceil(at_once);
    let waves = blocks.div_ceil(resident) as f64;
    let folds = if slices == 1 { 0.0 } else { rates.slices };
    let moved = bytes as f64 * moved(of, batch);
    Some(
        rates.launch
            + folds
            + blocks as f64 * (rates.block + rates.element * elements as f64)
            + waves * loads as f64 * rates.load
            + moved * rates.moved,
    )
}
