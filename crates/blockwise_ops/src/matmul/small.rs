//! Batches of small products: how much a block computes, and how long the launch takes.

use kernels::matmul::small::{COLS, MOST, ROWS, THREADS, room, threads};
use kernels::pack::BYTES;

use super::extents;
use super::vectors::lanes;
use crate::by_width::by_width;
use crate::operation::{Problem, Task};

/// The most bytes of shared memory for one product: 64 KiB of A and B, and a pack for each, since
/// a run may begin within one. For several products, or a run of rows with its B, less is faster.
const MOST_ROOM: usize = (64 << 10) + 2 * BYTES;
const SHARED_ROOM: usize = 32 << 10;
/// The most products of a block.
const MOST_EACH: usize = 32;
/// The longest inner extent, and the most columns, of a product whose rows are divided into runs.
const RUN_INNER: usize = 32;
const RUN_COLS: usize = 256;
/// A block takes more than the least only while this many blocks remain: about two for each
/// multiprocessor of a large device.
const BLOCKS: usize = 256;
/// Bytes of a multiprocessor's shared memory, and of it those that each block takes beside its own.
const SHARED: usize = 227 << 10;
const RESERVED: usize = 1 << 10;
const WARP: usize = 32;

/// The costs of a launch, in nanoseconds: in packs, and in single elements. They are a fit to 152
/// launches of f32 and 145 of f64 on an H200 (docs/log/2026-11-29-small.md): of the 125 that are
/// chosen, two in three are within 7 % of the model and 95 in 100 within 18. Empty launches are
/// shorter since (2026-11-30-rows.md).
struct Rates {
    /// A launch that computes nothing.
    launch: f64,
    /// An element of the sums of a wave of blocks.
    element: [f64; 2],
    /// An element of a warp's sums, on a multiprocessor that has others to run.
    issue: [f64; 2],
    /// A copy of an element, and a result.
    copy: [f64; 2],
    store: [f64; 2],
    /// The most blocks of a multiprocessor.
    resident: usize,
}

const fn rates(bytes: usize) -> Rates {
    match bytes {
        4 => Rates {
            launch: 5250.0,
            element: [17.7, 26.1],
            issue: [1.67, 0.267],
            copy: [0.108, 0.162],
            store: [0.11, 0.193],
            resident: 8,
        },
        _ => Rates {
            launch: 5150.0,
            element: [26.5, 41.3],
            issue: [5.54, 0.574],
            copy: [0.204, 0.216],
            store: [0.264, 0.271],
            resident: 6,
        },
    }
}

fn room_of(of: [usize; 3], bytes: usize, each: usize) -> usize {
    by_width!(bytes, T => room::<T>(of, each))
}

/// Whether the kernel can compute the batch.
pub(super) fn is_small(problem: &Problem) -> bool {
    let ([rows, _, cols], run) = (extents(problem), run(problem));
    (run > 0 || rows == 0) && run.saturating_mul(cols) <= MOST
}

/// Nanoseconds of the launch; `None` if the kernel cannot compute the batch, or has nothing to
/// compute.
pub(super) fn time(task: &Task<'_>) -> Option<f64> {
    let problem = task.problem;
    if !is_small(problem) || problem.extents.contains(&0) {
        return None;
    }
    let ([_, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    let (run, each) = (run(problem), each(problem));
    let [along, runs] = groups(problem);
    let at_once = task.device.multiprocessors_to_fill() as usize;
    let room = room_of([run, inner, cols], bytes, each);
    let Rates {
        launch,
        element,
        issue,
        copy,
        store,
        resident,
    } = rates(bytes);
    let resident = (SHARED / (room + RESERVED)).clamp(1, resident);
    let threads = each.saturating_mul(threads(run, cols));
    let sums = inner.saturating_mul(threads.div_ceil(THREADS as usize)) as f64;
    let warps = threads.min(THREADS as usize).div_ceil(WARP) as f64;
    let blocks = along.saturating_mul(runs);
    let waves = blocks.div_ceil(at_once.saturating_mul(resident)) as f64;
    let of_each = blocks.div_ceil(at_once) as f64;
    let packs = task.in_packs(&[inner, cols]);
    let form = usize::from(!packs);
    let pack = if packs { lanes(bytes) } else { 1 };
    let passes = inner.div_ceil(pack) * threads.div_ceil(WARP) * ROWS;
    let conflicts = CONFLICT * (passes * extra_answers(inner / pack, cols, pack * bytes)) as f64;
    let [run, of_inner, of_cols, each] = [run, inner, cols, each].map(|count| count as f64);
    let copied = each * of_inner * (run + of_cols);
    let of_block =
        issue[form] * sums * warps + copied * copy[form] + run * of_cols * each * store[form];
    let of_block = of_block + conflicts;
    Some(launch + waves * element[form] * sums + of_each * of_block)
}

/// Shared memory answers this many bytes of a warp's loads at a time.
const AT_A_TIME: usize = 128;
/// Nanoseconds of one more answer: half a clock cycle, as other warps hide the rest. 2044 times 128 × 32 × 8
/// at an odd address, whose warps read 16 rows in one bank, take 44.6 µs
/// (docs/log/2026-11-30-rows.md), 21.6 by the model without this.
const CONFLICT: f64 = 0.285;

/// How many answers bank conflicts add to a warp's load of A. A lane loads `bytes` bytes; neighbouring
/// lanes load from rows that begin `apart` such loads after each other.
fn extra_answers(apart: usize, cols: usize, bytes: usize) -> usize {
    let served = AT_A_TIME / bytes;
    let rows = served.div_ceil(cols.div_ceil(COLS));
    let distinct = served >> apart.trailing_zeros().min(served.trailing_zeros());
    (rows.div_ceil(distinct) - 1) * (WARP / served)
}

/// The blocks: groups of products along x, runs of rows along y.
pub(super) fn groups(problem: &Problem) -> [usize; 2] {
    let [rows, ..] = extents(problem);
    let runs = rows.div_ceil(run(problem).max(1));
    [problem.extents[3].div_ceil(each(problem)), runs]
}

/// Rows of A in a block's shared memory at a time. All rows, if they fit and either the batch has
/// enough products or the product is not divided into runs; else a run, limited by the block's
/// threads, its shared memory and [`BLOCKS`]. 0 if nothing fits.
pub(super) fn run(problem: &Problem) -> usize {
    let (of @ [rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    let batch = problem.extents[3];
    let is_whole = room_of(of, bytes, 1) <= MOST_ROOM;
    let is_short = inner <= RUN_INNER && cols <= RUN_COLS && inner > 0 && cols > 0;
    if !is_short || is_whole && batch >= BLOCKS {
        return if is_whole { rows } else { 0 };
    }
    let for_threads = THREADS as usize / cols.div_ceil(COLS) * ROWS;
    let fit = (SHARED_ROOM / bytes).saturating_sub(inner * cols) / inner / ROWS * ROWS;
    let for_blocks = rows.saturating_mul(batch.max(1)).div_ceil(BLOCKS);
    let run = for_threads.min(for_blocks.next_multiple_of(ROWS));
    run.min(fit).min(rows)
}

/// Products per block: limited by its threads, its shared memory and [`BLOCKS`].
pub(super) fn each(problem: &Problem) -> usize {
    let batch = problem.extents[3];
    most_each(problem).min(batch / BLOCKS).max(1)
}

fn most_each(problem: &Problem) -> usize {
    let (of @ [rows, _, cols], bytes) = (extents(problem), problem.ty.bytes());
    if run(problem) < rows {
        return 1;
    }
    let by_threads = THREADS as usize / threads(rows, cols).max(1);
    let by_room = SHARED_ROOM / room_of(of, bytes, 1).max(1);
    by_threads.min(by_room).clamp(1, MOST_EACH)
}

#[cfg(test)]
mod tests {
    use super::super::with_task;
    use super::*;
    use blockwise::Type;

    fn of(ty: Type, batch: usize, extents: [usize; 3]) -> Problem {
        let [rows, inner, cols] = extents;
        Problem::new(ty, &[rows, inner, cols, batch])
    }

    #[test]
    fn a_block_has_as_many_products_as_fit_and_leave_enough_blocks() {
        for (ty, batch, extents, expected) in [
            (Type::F32, 10_000, [16; 3], 8),
            (Type::F32, 2000, [16; 3], 7),
            (Type::F32, 255, [16; 3], 1),
            (Type::F32, 1024, [64; 3], 1),
            (Type::F64, 1024, [64; 3], 1),
            (Type::F64, 1000, [8, 500, 8], 1),
            (Type::F64, 1000, [8, 200, 8], 1),
            (Type::F64, 1000, [8, 100, 8], 2),
            (Type::F32, 50_000, [5, 7, 3], 32),
            (Type::F32, 7, [0; 3], 1),
        ] {
            assert_eq!(each(&of(ty, batch, extents)), expected, "{extents:?}");
        }
    }

    #[test]
    fn runs_of_rows_leave_enough_blocks_and_fit() {
        for (ty, batch, extents, expected) in [
            // All rows: of large batches, and where sums or rows of C are too long for runs.
            (Type::F32, 256, [300, 8, 8], 300),
            (Type::F32, 3, [100, 33, 8], 100),
            (Type::F32, 3, [2000, 33, 8], 0),
            (Type::F32, 3, [2000, 8, 257], 0),
            (Type::F32, 3, [5, 0, 7], 5),
            (Type::F32, 1, [1 << 20, 0, 0], 1 << 20),
            // Runs limited by threads, by shared memory, by the number of blocks, and by the rows.
            (Type::F32, 4, [190_160, 8, 8], 256),
            (Type::F32, 400, [1000, 32, 8], 248),
            (Type::F64, 400, [1000, 32, 8], 120),
            (Type::F32, 3, [1608, 8, 8], 20),
            (Type::F32, 2, [5, 8, 8], 4),
            (Type::F32, 0, [5; 3], 4),
        ] {
            assert_eq!(
                run(&of(ty, batch, extents)),
                expected,
                "{batch} {extents:?}"
            );
        }
    }

    #[test]
    fn what_it_cannot_compute_has_no_time() {
        let time = |ty, batch, [rows, inner, cols]: [usize; 3]| {
            with_task(ty, &[rows, inner, cols, batch], time)
        };
        for extents in [[2000, 33, 8], [200, 200, 200], [5, 0, 7], [0, 5, 7]] {
            assert_eq!(time(Type::F32, 3, extents), None, "{extents:?}");
        }
        // docs/log/2026-11-28-choice-of-batches.md.
        for (ty, batch, extents, microseconds) in [
            (Type::F32, 1783, [584, 24, 24], 71.7),
            (Type::F32, 7919, [8, 104, 16], 40.5),
            (Type::F32, 12_617, [8, 8, 8], 9.0),
            (Type::F64, 3961, [12, 12, 114], 37.6),
            (Type::F64, 214, [1464, 24, 16], 38.5),
        ] {
            let ratio = time(ty, batch, extents).expect("small") / (1e3 * microseconds);
            assert!((0.7..1.4).contains(&ratio), "{batch} {extents:?}: {ratio}");
        }
        assert!(is_small(&of(Type::F32, 1, [129, 4, 4])));
    }
}
