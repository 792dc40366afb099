//! The tiles, teams and slices of `direct`, from a model of the launch's time.

use blockwise::DeviceProperties;
use kernels::matmul::direct::{DirectTiles, MOST, THREADS, WARPS};
use kernels::matmul::slices::{MOST_SLICES, slice_len, sums};

use super::cost::SHORTEST;
use super::extents;
use crate::LaunchError;
use crate::limits::blocks_for;
use crate::operation::{Plan, Problem, Task};

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direct {
    pub tiles: DirectTiles,
    pub slices: usize,
}

/// The team's code: the logarithm of its warps. It follows from the inner extent alone, so that a product has the same bits in
/// every batch: one round of loads where the extent is short.
fn team(inner: usize, slices: usize) -> u8 {
    let warps = match slices {
        1 => inner.div_ceil(ROUND).next_power_of_two().min(WARPS),
        _ => WARPS,
    };
    warps.trailing_zeros() as u8
}

/// Elements of the inner extent that a warp has in flight.
const ROUND: usize = 16;

/// Whether there is such a kernel for the product.
pub(super) fn is_direct(problem: &Problem) -> bool {
    let (of @ [rows, _, cols], batch) = (extents(problem), problem.extents[3]);
    let counted = |tiles: DirectTiles| tiles.count(rows, cols).saturating_mul(batch) <= MOST;
    of.into_iter().all(|extent| extent <= MOST) && DirectTiles::ALL.into_iter().all(counted)
}

/// Tiles of all products: a ticket each.
pub(super) fn most_groups(problem: &Problem) -> usize {
    let [rows, _, cols] = extents(problem);
    let counts = DirectTiles::ALL.map(|tiles| tiles.count(rows, cols));
    let most = counts.into_iter().fold(0, usize::max);
    most.saturating_mul(problem.extents[3])
}

/// The launch of the tiles and slices that were asked for, or of the fastest.
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

/// What was asked for, and the fastest of what was not.
pub(super) fn chosen(task: &Task<'_>) -> Direct {
    let (of, batch) = (extents(task.problem), task.problem.extents[3]);
    let asked = task.options.instance.map(usize::from);
    let tiles = asked.and_then(|at| DirectTiles::ALL.get(at).copied());
    let slices = task.options.count.map(|count| count.get() as usize);
    fastest(of, batch, tiles, slices, MOST_SLICES, task.device).1
}

/// The nanoseconds of the fastest launch in at most `most` slices, if there is such a kernel.
pub(super) fn time_of(
    of: [usize; 3],
    batch: usize,
    most: usize,
    device: &DeviceProperties,
) -> Option<f64> {
    let [rows, inner, cols] = of;
    let problem = Problem::new(blockwise::Type::F64, &[rows, inner, cols, batch]);
    is_direct(&problem).then(|| fastest(of, batch, None, None, most, device).0)
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

/// Nanoseconds of the launch.
fn time(
    Direct { tiles, slices }: Direct,
    [rows, inner, cols]: [usize; 3],
    batch: usize,
    device: &DeviceProperties,
) -> f64 {
    let at_once = device.multiprocessors_to_fill() as usize;
    let len = if slices == 1 {
        inner
    } else {
        slice_len(inner, slices)
    };
    let team = 1 << team(inner, slices);
    let blocks = tiles
        .count(rows, cols)
        .saturating_mul(batch)
        .div_ceil(WARPS / team)
        .saturating_mul(slices);
    let _ = (blocks, at_once, len);
    f64::INFINITY
}
