//! How long batches of products of few rows or columns take.

use blockwise::DeviceProperties;
use kernels::matmul::{few_rows, narrow};

use super::super::cost::moved;
use super::super::extents;
use super::super::vectors::lanes;
use super::{Division, EIGHT, fastest, is_few};
use crate::operation::Problem;

/// The costs of a division's launch for a batch, in nanoseconds. They fit 633 launches on an H200
/// (docs/log/2026-11-28-choice-of-batches.md): half of the times are within 7 % of the model, nine in
/// ten within 22.
struct Rates {
    /// A launch that computes nothing, and one whose last blocks add slices beside.
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

const fn rates(division: Division, bytes: usize) -> Rates {
    let (launch, slices, block, element, load, moved) = match (division, bytes) {
        (Division::Thin { .. }, 4) => (4820.0, 0.0, 101.0, 2.81, 59.5, 1.25e-4),
        (Division::Thin { .. }, _) => (4150.0, 0.0, 116.0, 3.76, 117.0, 1.6e-4),
        (Division::Rows, _) => (6810.0, 981.0, 1053.0, 0.422, 13.9, 1.08e-4),
        (Division::Columns { .. }, 4) => (4470.0, 2120.0, 379.0, 5.77, 109.0, 1.2e-4),
        (Division::Columns { .. }, _) => (5180.0, 269.0, 279.0, 27.3, 122.0, 1.23e-4),
        (Division::Narrow { .. }, _) => (5030.0, 4750.0, 510.0, 18.6, 127.0, 1.01e-4),
    };
    Rates {
        launch,
        slices,
        block,
        element,
        load,
        moved,
    }
}

/// Blocks of a multiprocessor, of `few_cols`, `few_rows` and `narrow`, and the threads of a
/// multiprocessor.
const OF_COLUMNS: usize = 8;
const OF_ROWS: usize = 2;
const OF_NARROW: usize = 4;
const OF_THIN: usize = 2048;
const WARP: f64 = 32.0;

/// Nanoseconds of the fastest launch for a batch of products; `None` if the kernels cannot compute
/// it, or have nothing to compute.
pub(in crate::matmul) fn time(problem: &Problem, device: &DeviceProperties) -> Option<f64> {
    if !is_few(problem) || problem.extents.contains(&0) {
        return None;
    }
    let (of @ [rows, inner, cols], batch) = (extents(problem), problem.extents[3]);
    let bytes = problem.ty.bytes();
    let at_once = device.multiprocessors_to_fill() as usize;
    let (division, slices) = fastest(of, batch, bytes, device);
    let few = division.launch(of, bytes, [true; 2]);
    let len = inner.div_ceil(slices);
    let per = |blocks: usize| {
        let all = blocks.saturating_mul(batch).saturating_mul(slices);
        all.div_ceil(at_once)
    };
    // Blocks and waves of a multiprocessor, the warps of a block, elements and loads of each.
    let (blocks, resident, warps, elements, loads) = match division {
        Division::Thin { lanes, threads } => {
            let high = few.high(batch, slices) as usize;
            let threads = threads as usize;
            let (warps, loads) = (
                (threads * high) as f64 / WARP,
                len.div_ceil(threads / lanes),
            );
            let resident = (OF_THIN / (threads * high)).max(1);
            let elements = warps * (loads * rows) as f64;
            (
                per(few.groups.div_ceil(high)),
                resident,
                warps,
                elements,
                loads,
            )
        }
        Division::Rows => {
            let own = if rows <= EIGHT {
                EIGHT
            } else {
                few_rows::MOST_ROWS
            };
            let elements = len.saturating_mul(own) as f64;
            (per(few.groups), OF_ROWS, 1.0, elements, len)
        }
        Division::Columns { team, packs } => {
            let each = if packs { lanes(bytes) } else { 1 };
            let loads = len.div_ceil(team * each);
            let elements = loads.saturating_mul(1 + cols) as f64;
            (per(few.groups), OF_COLUMNS, 1.0, elements, loads)
        }
        Division::Narrow { wide } => {
            let steps = len.div_ceil(narrow::STEP);
            let elements = steps.saturating_mul(wide) as f64;
            (per(few.groups), OF_NARROW, 1.0, elements, steps)
        }
    };
    let rates = rates(division, bytes);
    let waves = blocks.div_ceil(resident) as f64;
    let folds = if slices == 1 { 0.0 } else { rates.slices };
    let moved = bytes as f64 * moved(of, batch);
    Some(
        rates.launch
            + folds
            + blocks as f64 * (rates.block * warps + rates.element * elements)
            + waves * loads as f64 * rates.load
            + moved * rates.moved,
    )
}
