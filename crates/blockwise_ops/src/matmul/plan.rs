//! How a matrix product is launched.

use blockwise::{DeviceProperties, Type};
use kernels::matmul::direct::MOST;
use kernels::matmul::mma::{MmaTiles, items};
use kernels::matmul::policy::{Policy, Tiles, pitch};
use kernels::matmul::short::THREADS as SHORT_THREADS;
use kernels::matmul::slices::{Cut, Slicing, slice_len, sums};
use kernels::matmul::small::{THREADS as SMALL_THREADS, needed};
use kernels::matmul::{TILE, register_tile};

use super::choice;
use super::direct;
use super::few::{self, Division, Few};
use super::short;
use super::small::{each, groups, is_small, run};
use super::vectors::{fit, lanes, vectors};
use super::{
    DIRECT, FEW, MMA, PIPELINED, REGISTER_TILE, SHORT, SLICED, SLICED_COPY, SMALL, TENSOR, extents,
    is_one, mma,
};
use crate::LaunchError;
use crate::by_width::by_width;
use crate::limits::blocks_for;
use crate::operation::{Plan, Task, Variant};

/// Plans a product of the operands themselves: with several slices, the launch that computes the
/// slices' products.
pub(super) fn whole(task: &Task<'_>) -> Result<Plan, LaunchError> {
    launch(task, task.problem.extents[2], [task.aligned; 3])
}

/// The same with a copy of B.
pub(super) fn of_copy(task: &Task<'_>) -> Result<Plan, LaunchError> {
    launch(task, pitch(task.problem.extents[2]), [true; 3])
}

/// Whether the product is one launch without memory of its own.
pub(super) fn is_one_slice(task: &Task<'_>) -> bool {
    choice::slicing(task).slices == 1
}

/// Whether the variant can divide the inner extent into slices.
pub(super) fn has_slices(kernel: &Variant) -> bool {
    has_cuts(kernel) || [&MMA, &FEW, &DIRECT].contains(&kernel)
}

/// Whether the variant's instances are the tiles of `sliced`.
pub(super) fn has_cuts(kernel: &Variant) -> bool {
    *kernel == SLICED || *kernel == SLICED_COPY
}

/// The variants that multiply batches.
const HAVE_BATCHES: [&Variant; 7] = [&PIPELINED, &SLICED, &MMA, &SMALL, &SHORT, &DIRECT, &FEW];

/// Refuses types and settings that the variant does not have.
pub(super) fn check(task: &Task<'_>) -> Result<(), LaunchError> {
    let (kernel, ty) = (task.variant, task.problem.ty);
    if !kernel.takes(ty) {
        return Err(LaunchError::UnsupportedType {
            kernel: kernel.name,
            supported: match [Type::F32, Type::F64].map(|ty| kernel.takes(ty)) {
                [true, true] => "f32 and f64",
                [_, false] => "f32",
                [false, true] => "f64",
            },
            given: ty.name(),
        });
    }
    if task.problem.settings[0] == 1 && *kernel != TENSOR {
        return Err(LaunchError::Contradiction {
            kernel: kernel.name,
            setting: "tensor",
        });
    }
    if !is_one(task.problem) && !HAVE_BATCHES.contains(&kernel) {
        return Err(LaunchError::NoBatch {
            kernel: kernel.name,
        });
    }
    Ok(())
}

/// The plan for rows of B that start `pitch` elements apart. `aligned` says whether A, B and C
/// begin at multiples of 16 bytes.
pub(super) fn launch(
    task: &Task<'_>,
    pitch: usize,
    aligned: [bool; 3],
) -> Result<Plan, LaunchError> {
    check(task)?;
    let (of, bytes) = (extents(task.problem), task.problem.ty.bytes());
    let batch = task.problem.extents[3];
    let [rows, inner, cols] = of;
    let kernel = task.variant;
    let vectors = vectors(kernel, of, bytes, pitch);
    if *kernel == DIRECT {
        return direct::plan(task);
    }
    if *kernel == PIPELINED {
        let asked = task.options.instance;
        let asked = asked.and_then(|at| Tiles::ALL.get(usize::from(at)));
        let most = match task.options.grid_cap {
            // Its blocks do not stride over a batch.
            Some(cap) if (cap as usize) < batch => 0,
            _ => batch,
        };
        let whole = aligned[1] && aligned[2];
        let tiles = match tiles(asked.copied(), of, batch, whole, task.device) {
            Tiles::Wide if most == 0 => Tiles::Tall,
            tiles => tiles,
        };
        return Ok(layered(
            by_blocks(task, [0, tiles as u8], tiles.policy(), of)?,
            task,
            1,
        ));
    }
    if !has_slices(kernel) {
        let side = match *kernel == REGISTER_TILE {
            true => register_tile::SIDE,
            false => TILE,
        };
        task.fixed_block(TILE * TILE)?;
        return task.plan_2d([0, 0], [cols, rows], [side; 2], [TILE; 2]);
    }
    let Slicing { cut, slices } = choice::slicing(task);
    sums(rows, cols, slices, batch).ok_or(LaunchError::SizeOverflow {
        what: "the products of the slices",
    })?;
    let plan = if *kernel == FEW {
        if !few::is_few(task.problem) {
            return Err(LaunchError::ShapeMismatch {
                left_name: "A",
                left: vec![rows, inner],
                right_name: "B",
                right: vec![inner, cols],
                rule: "the kernel `few` is for at most 16 columns of B or 16 rows of A (float64: 4), and 65,535 products",
            });
        }
        let few = Division::of(task).launch(of, bytes, [aligned[0], aligned[1]]);
        let Few { which, block, .. } = few;
        let high = few.high(batch, slices);
        let blocks = few.groups.div_ceil(high as usize);
        let mut plan = blocks_of(task, which, blocks, block[0], few.shared_bytes)?;
        plan.launch.block[1] = high;
        // Each product has a layer along y, whatever the cap.
        plan.launch.grid[1] = batch as u32;
        return Ok(with_layers(plan, task, slices));
    } else if *kernel == MMA {
        if !mma::is_counted(of) {
            return Err(LaunchError::SizeOverflow {
                what: "the tiles of `mma`",
            });
        }
        let asked = task.options.instance;
        let asked = asked.and_then(|at| MmaTiles::ALL.get(usize::from(at)));
        let vectors = vectors && aligned == [true; 3];
        let tiles = asked.copied();
        let whole = mma::whole(task, slices);
        let tiles =
            tiles.unwrap_or_else(|| mma::tiles(of, batch, [slices, whole], vectors, task.device));
        let tiles = tiles.with(vectors);
        let instance = match asked {
            // A number without an instance is refused later.
            None => task.options.instance.unwrap_or(tiles as u8),
            Some(_) => tiles as u8,
        };
        let policy = tiles.policy(vectors);
        let blocks = items(&policy, [rows, whole], cols, slices);
        if blocks > MOST {
            return Err(LaunchError::SizeOverflow {
                what: "the tiles of `mma` in all slices",
            });
        }
        let longest = slice_len(inner, if whole == 0 { slices } else { 1 });
        let threads = task.fixed_block(policy.threads() as u32)?;
        let shared_bytes = tiles.shared_bytes(vectors, longest) as u64;
        let which = [u8::from(!vectors), instance];
        let mut plan = task.plan_layers(which, blocks, batch, threads, shared_bytes)?;
        // Each tile has a block, whatever the cap; there are at most `MOST`.
        plan.launch.grid[0] = blocks.max(1) as u32;
        return Ok(plan);
    } else {
        let instance = match task.options.instance.map(usize::from) {
            // A number without an instance is refused later.
            Some(at) if at >= Cut::ALL.len() => at as u8,
            _ => cut as u8,
        };
        let vectors = vectors && fit(cut, [aligned[1], aligned[2]], cols);
        let which = [u8::from(!vectors), instance];
        let mut plan = by_blocks(task, which, cut.policy(vectors), of)?;
        if cut != Cut::Tall {
            // Each has a layer, whatever the cap; `slicing` takes tall tiles for more than fit.
            plan.launch.grid[2] = slices.saturating_mul(batch) as u32;
            return Ok(plan);
        }
        plan
    };
    Ok(layered(plan, task, slices))
}

/// The plan with a layer of blocks for each slice of each product of a batch.
fn layered(plan: Plan, task: &Task<'_>, slices: usize) -> Plan {
    with_layers(plan, task, slices.saturating_mul(task.problem.extents[3]))
}

fn with_layers(mut plan: Plan, task: &Task<'_>, layers: usize) -> Plan {
    let (cap, most) = (task.options.grid_cap, task.device.max_grid[2]);
    plan.launch.grid[2] = blocks_for(layers, 1, cap, most);
    plan
}

/// The instance of `pipelined`: the requested one if it fits, or the fastest.
pub(super) fn tiles(
    asked: Option<Tiles>,
    of: [usize; 3],
    batch: usize,
    aligned: bool,
    device: &DeviceProperties,
) -> Tiles {
    if !aligned {
        return Tiles::Ragged;
    }
    let in_one = batch <= device.max_grid[2] as usize;
    if let Some(tiles) = asked.filter(|tiles| tiles.fit(of[2]) && (in_one || *tiles != Tiles::Wide))
    {
        return tiles;
    }
    if !Tiles::Wide.fit(of[2]) {
        Tiles::Ragged
    } else if in_one && choice::wide_is_faster(of, batch, device) {
        Tiles::Wide
    } else {
        Tiles::Tall
    }
}

/// A grid of one dimension over all of a product's tiles.
pub(super) fn by_blocks(
    task: &Task<'_>,
    which: [u8; 2],
    policy: Policy,
    [rows, _, cols]: [usize; 3],
) -> Result<Plan, LaunchError> {
    let (tiles, threads) = (policy.tiles(rows, cols), policy.threads() as u32);
    blocks_of(task, which, tiles, threads, policy.shared_bytes())
}

/// Plans `small`: several whole products per block.
pub(super) fn small(task: &Task<'_>) -> Result<Plan, LaunchError> {
    check(task)?;
    let problem = task.problem;
    let ([rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    if !is_small(problem) {
        return Err(LaunchError::ShapeMismatch {
            left_name: "A",
            left: vec![rows, inner],
            right_name: "B",
            right: vec![inner, cols],
            rule: "the kernel `small` is for matrices that fit 64 KiB together, or rows of at most 32 elements",
        });
    }
    let whole = |extent: usize| extent.is_multiple_of(lanes(bytes));
    let packs = task.aligned && whole(inner) && whole(cols);
    let (each, batch) = (each(problem), problem.extents[3]);
    let [groups, runs] = groups(problem);
    let of = [run(problem), inner, cols];
    let cap = task.options.grid_cap;
    let [along_x, along_y, _] = task.device.max_grid;
    let launched = blocks_for(groups, 1, cap, along_x);
    let needed = by_width!(bytes, T => needed::<T>(of, each, batch, launched));
    let mut plan = blocks_of(task, [packs.into(), 0], groups, SMALL_THREADS, needed)?;
    plan.launch.grid[1] = blocks_for(runs, 1, cap, along_y);
    Ok(plan)
}

/// Plans a grid of this many blocks.
pub(super) fn blocks_of(
    task: &Task<'_>,
    which: [u8; 2],
    blocks: usize,
    threads: u32,
    shared_bytes: usize,
) -> Result<Plan, LaunchError> {
    let threads = task.fixed_block(threads)?;
    let items = blocks.saturating_mul(threads as usize);
    task.plan_1d(which, items, threads, shared_bytes as u64)
}

pub(super) fn short(task: &Task<'_>) -> Result<Plan, LaunchError> {
    check(task)?;
    let problem = task.problem;
    if !short::is_short(problem) {
        let [rows, inner, cols] = extents(problem);
        return Err(LaunchError::ShapeMismatch {
            left_name: "A",
            left: vec![rows, inner],
            right_name: "B",
            right: vec![inner, cols],
            rule: "the kernel `short` is for an inner extent of at most 16",
        });
    }
    let code = short::code(problem, task.aligned);
    let [across, runs] = short::block(problem, code).grid;
    let mut plan = blocks_of(task, [code, 0], across, SHORT_THREADS, 0)?;
    let (cap, most) = (task.options.grid_cap, task.device.max_grid[1]);
    plan.launch.grid[1] = blocks_for(runs, 1, cap, most);
    Ok(plan)
}

/// A policy in a few words.
pub(super) fn described(policy: &Policy) -> String {
    let Policy {
        rows,
        cols,
        inner,
        stages,
        ..
    } = policy;
    format!("{rows} x {cols} x {inner}, {stages} stages")
}

#[cfg(test)]
mod tests;
