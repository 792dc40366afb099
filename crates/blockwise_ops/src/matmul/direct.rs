//! The tiles, teams and slices of `direct`, from a model of the launch's time.

use blockwise::DeviceProperties;
use kernels::matmul::direct::{AT_ONCE, DEPTH, DirectTiles, MOST, THREADS, WARPS};
use kernels::matmul::slices::{MOST_SLICES, slice_len, sums};

use super::cost::SHORTEST;
use super::extents;
use crate::LaunchError;
use crate::limits::blocks_for;
use crate::operation::{Plan, Problem, Task};

/// The costs of tiles of one size, in nanoseconds.
struct Rates {
    /// A launch that computes nothing.
    launch: f64,
    /// The start and the end of a wave of blocks, and the latency of the loads in flight at once.
    wave: f64,
    round: f64,
    /// A block, and a warp's step, on a multiprocessor that has others to run.
    block: f64,
    step: f64,
}

/// Fitted to 1088 launches on an H200 (docs/log/2026-11-27-small-doubles.md): half of the times are
/// within 5 % of the model, nine in ten within 13.
/// The launch of the smallest is 900 ns shorter than in that fit
/// (docs/log/2026-11-28-doubles-choice.md, 2026-11-30-rows.md), and tiles of eight columns fit 21
/// launches of theirs (2026-11-30-addresses.md).
const fn rates(tiles: DirectTiles) -> Rates {
    let (launch, wave, round, block, step) = match tiles {
        DirectTiles::Small => (3925.0, 0.0, 470.0, 594.0, 18.5),
        DirectTiles::Square => (4825.0, 643.0, 314.0, 180.0, 30.4),
        DirectTiles::Wide => (4825.0, 801.0, 291.0, 0.0, 40.8),
        DirectTiles::Narrow => (4865.0, 500.0, 248.0, 110.0, 40.3),
    };
    Rates {
        launch,
        wave,
        round,
        block,
        step,
    }
}

/// The last block's addition of slices, and that of each slice.
const FOLD: f64 = 734.0;
const SLICE: f64 = 54.4;
/// Elements per nanosecond: of the slices' sums, of C, and of the operands. The last fits the
/// launches of 2026-11-30-rows.md.
const SUMS: f64 = 59.2;
const STORED: f64 = 231.0;
const READ: f64 = 460.0;
/// The same of a single product in tiles of eight columns: 1328 × 5728 × 8 takes 23.3 µs at an odd
/// address (docs/log/2026-11-30-addresses.md).
const READ_BY_NARROW: f64 = 530.0;
/// Elements of an operand that the caches hold: 16 MiB.
const CACHED: usize = 1 << 21;
/// Blocks of a multiprocessor.
const RESIDENT: usize = 2;

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direct {
    pub tiles: DirectTiles,
    pub slices: usize,
}

/// The team's code: the logarithm of its warps. It follows from the inner extent alone, so that a
/// product has the same bits in every batch: one round of loads where the extent is short.
fn team(inner: usize, slices: usize) -> u8 {
    let warps = match slices {
        1 => inner.div_ceil(ROUND).next_power_of_two().min(WARPS),
        _ => WARPS,
    };
    warps.trailing_zeros() as u8
}

/// Elements of the inner extent that a warp has in flight.
const ROUND: usize = AT_ONCE * DEPTH;

/// Whether the kernel can compute the product.
pub(super) fn is_direct(problem: &Problem) -> bool {
    let (of @ [rows, _, cols], batch) = (extents(problem), problem.extents[3]);
    let counted = |tiles: DirectTiles| tiles.count(rows, cols).saturating_mul(batch) <= MOST;
    of.into_iter().all(|extent| extent <= MOST) && DirectTiles::ALL.into_iter().all(counted)
}

/// Whether its fastest tiles, eight columns wide, would read A twice, and A is too large for the
/// caches: 6424 × 4024 × 16 takes 123 µs (`mma` 75), 4096 × 72 × 16 7.5 (6.7). Once, `mma` reads a
/// large A faster in pairs: 17,240 × 5000 × 8 takes 238 µs (175), 4096 × 280 × 8 9.6 (9.3).
fn reads_slowly([rows, inner, cols]: [usize; 3], is_paired: bool) -> bool {
    let a = rows.saturating_mul(inner);
    match cols {
        0..=MOST_OF_FEW | THIN_AND_MORE.. => false,
        ..=NARROW => is_paired && a >= LARGE,
        _ if is_paired => a > CACHED_PAIRS,
        _ => a > CACHED,
    }
}
const LARGE: usize = 1 << 24;
const CACHED_PAIRS: usize = 250_000;
/// The most rows or columns that [`few`](super::few) has, and more than a thin product's.
const MOST_OF_FEW: usize = 4;
const THIN_AND_MORE: usize = THIN + 1;

/// Whether two rows of tiles read a B that is too large for the caches: 22 × 1230 × 6545 takes 42.5
/// µs (`mma` 28.2), 195 times 19 × 9501 × 231 1570 (1105). Smaller ones were not compared.
fn reads_again([rows, inner, cols]: [usize; 3]) -> bool {
    rows > THIN && inner.saturating_mul(cols) > CACHED
}

/// The longest shorter side of a thin C.
const THIN: usize = 16;
const NARROW: usize = DirectTiles::Narrow.sides()[1];
/// In a batch it is considered up to this shorter side.
const NARROW_OF_BATCH: usize = 32;
/// Of a batch: what the launch takes beside, and each block of 16 rows and more than eight columns.
/// 163 batches on an H200 (docs/log/2026-11-28-choice-of-batches.md).
const OF_BATCH: [f64; 2] = [400.0, 110.0];

/// The most tiles of all products: each has a ticket.
pub(super) fn most_groups(problem: &Problem) -> usize {
    let [rows, _, cols] = extents(problem);
    let counts = DirectTiles::ALL.map(|tiles| tiles.count(rows, cols));
    let most = counts.into_iter().fold(0, usize::max);
    most.saturating_mul(problem.extents[3])
}

/// Plans a launch with the requested tiles and slices, or with the fastest.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let problem = task.problem;
    let ([rows, inner, cols], batch) = (extents(problem), problem.extents[3]);
    if !is_direct(problem) {
        return Err(LaunchError::SizeOverflow {
            what: "the tiles of `direct`",
        });
    }
    let Direct { tiles, slices } = chosen(task);
    sums(rows, cols, slices, batch).ok_or(LaunchError::SizeOverflow {
        what: "the products of the slices",
    })?;
    let code = team(inner, slices);
    let teams = WARPS >> code;
    let blocks = tiles
        .count(rows, cols)
        .saturating_mul(batch)
        .div_ceil(teams);
    let threads = task.fixed_block(THREADS)?;
    let instance = task.options.instance.unwrap_or(tiles as u8);
    let shared_bytes = tiles.shared_bytes() as u64;
    let mut plan = task.plan_blocks([code, instance], blocks, threads, shared_bytes)?;
    let (cap, most) = (task.options.grid_cap, task.device.max_grid[2]);
    plan.launch.grid[2] = blocks_for(slices, 1, cap, most);
    Ok(plan)
}

/// The requested tiles and slices, and the fastest for what was not requested.
pub(super) fn chosen(task: &Task<'_>) -> Direct {
    let (of, batch) = (extents(task.problem), task.problem.extents[3]);
    let asked = task.options.instance.map(usize::from);
    let tiles = asked.and_then(|at| DirectTiles::ALL.get(at).copied());
    let slices = task.options.count.map(|count| count.get() as usize);
    fastest(of, batch, tiles, slices, MOST_SLICES, task.device).1
}

/// The nanoseconds of the fastest launch in at most `most` slices; `None` if the kernel cannot
/// compute the product or is not to be chosen for it.
pub(super) fn time_of(task: &Task<'_>, most: usize) -> Option<f64> {
    let (of @ [rows, _, cols], batch) = (extents(task.problem), task.problem.extents[3]);
    let pays = match batch {
        1 => !reads_slowly(of, task.in_packs(&of[1..])),
        _ => rows.min(cols) <= NARROW_OF_BATCH,
    } && !reads_again(of);
    let pays = pays && is_direct(task.problem);
    pays.then(|| fastest(of, batch, None, None, most, task.device).0)
}

/// The fastest launch, and its nanoseconds.
pub(super) fn fastest(
    of: [usize; 3],
    batch: usize,
    tiles: Option<DirectTiles>,
    slices: Option<usize>,
    most: usize,
    device: &DeviceProperties,
) -> (f64, Direct) {
    let longest = (of[1] / SHORTEST).clamp(1, most);
    let slices = slices.map_or(1..=longest, |slices| slices..=slices);
    let all = DirectTiles::ALL
        .into_iter()
        .filter(|one| tiles.is_none_or(|tiles| tiles == *one));
    let timed = all.flat_map(|tiles| {
        slices.clone().map(move |slices| {
            let direct = Direct { tiles, slices };
            (time(direct, of, batch, device), direct)
        })
    });
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let (tiles, slices) = (DirectTiles::Square, 1);
    fastest.unwrap_or((0.0, Direct { tiles, slices }))
}

/// Nanoseconds of the launch: the latency of the busiest multiprocessor's waves; what its blocks
/// issue, or the operands from memory; C and the slices.
fn time(
    Direct { tiles, slices }: Direct,
    [rows, inner, cols]: [usize; 3],
    batch: usize,
    device: &DeviceProperties,
) -> f64 {
    let outputs = batch as f64 * rows as f64 * cols as f64;
    let operands = batch as f64 * inner as f64 * (rows as f64 + cols as f64);
    let fold = match slices {
        1 => 0.0,
        _ => FOLD + slices as f64 * (SLICE + outputs / SUMS),
    };
    let len = match slices {
        1 => inner,
        _ => slice_len(inner, slices),
    };
    let warps = 1 << team(inner, slices);
    let tiles_of_all = tiles.count(rows, cols).saturating_mul(batch);
    let blocks = tiles_of_all.div_ceil(WARPS / warps).saturating_mul(slices);
    let each = blocks.div_ceil(device.multiprocessors_to_fill() as usize);
    let steps = len.div_ceil(DEPTH);
    let rounds = steps.div_ceil(warps).div_ceil(AT_ONCE);
    let Rates {
        launch,
        wave,
        round,
        block,
        step,
    } = rates(tiles);
    let read = match (tiles, batch) {
        (DirectTiles::Narrow, 1) => READ_BY_NARROW,
        _ => READ,
    };
    let waves = each.div_ceil(RESIDENT) as f64 * (wave + rounds as f64 * round);
    let issued = (WARPS / warps * steps).saturating_mul(each) as f64 * step;
    let blocks = each as f64 * block;
    let time = launch + waves + blocks + issued.max(operands / read) + outputs / STORED + fold;
    if batch == 1 {
        return time;
    }
    let [launch, block] = OF_BATCH;
    let block = match tiles {
        DirectTiles::Small | DirectTiles::Narrow => 0.0,
        DirectTiles::Square | DirectTiles::Wide => block,
    };
    time + launch + each as f64 * block
}
