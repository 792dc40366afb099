//! Which product is launched, and how.

use blockwise::{DeviceProperties, Plain as _};
use kernels::matmul::policy::{self, Policy, Tiles};
use kernels::matmul::{self, register_tile};

use super::routines::MatmulLaunch;
use super::{MatmulKernel, MatmulOptions, MatmulShape};
use crate::launch::Ready;
use crate::limits::{blocks_for, plan_1d, plan_2d};
use crate::{Float, LaunchError, LaunchPlan, matrix_len};

/// Plans a product of matrices that begin at multiples of 16 bytes, as buffers do. `None` when there is no output, and so nothing to
/// launch.
///
/// # Errors
/// When a size overflows or a limit is broken.
pub fn plan<T: Float>(
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let planned = prepare::<T>(shape, true, options, properties)?;
    Ok(planned.map(|ready| ready.plan))
}

/// The plan. `aligned` says whether B and C begin at multiples of 16 bytes.
pub(crate) fn prepare<T: Float>(
    shape: MatmulShape,
    aligned: bool,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<Option<Ready<MatmulLaunch<T>>>, LaunchError> {
    let kernel = options.kernel.unwrap_or_else(|| choose::<T>(shape));
    let tiles = tiles(options.tiles, shape, aligned, properties);
    let routine = T::product(kernel, tiles).ok_or(LaunchError::UnsupportedType {
        kernel: kernel.name(),
        supported: f32::NAME,
        given: T::NAME,
    })?;
    let name = routine.entry.name;
    let by_tile = |side| plan_by_tile(name, side, shape, options, properties);
    let plan = match kernel {
        MatmulKernel::Naive | MatmulKernel::Tiled | MatmulKernel::TiledRaw => {
            by_tile(matmul::TILE)?
        }
        MatmulKernel::RegisterTile => by_tile(register_tile::SIDE)?,
        MatmulKernel::Pipelined => {
            plan_by_policy(name, &tiles.policy(), shape, options, properties)?
        }
    };
    let outputs = matrix_len(shape.rows, shape.cols)?;
    let launch = routine.launch;
    Ok((outputs > 0).then_some(Ready { plan, launch }))
}

/// The kernel that is fastest for the type and the shape.
fn choose<T: Float>(shape: MatmulShape) -> MatmulKernel {
    let outputs = shape.rows.saturating_mul(shape.cols);
    let small = outputs < policy::TUNED_FROM || shape.rows.min(shape.cols) < policy::TUNED_SIDE;
    if !small && MatmulKernel::Pipelined.takes::<T>() {
        MatmulKernel::Pipelined
    } else {
        MatmulKernel::Tiled
    }
}

/// The instance of `pipelined`: the one that is asked for, if it fits, or the fastest.
fn tiles(
    asked: Option<Tiles>,
    shape: MatmulShape,
    aligned: bool,
    properties: &DeviceProperties,
) -> Tiles {
    if !aligned {
        return Tiles::Ragged;
    }
    if let Some(tiles) = asked.filter(|tiles| tiles.fit(shape.cols)) {
        return tiles;
    }
    let at_once = properties.multiprocessors_to_fill() as usize;
    let wide = Tiles::Wide.policy().tiles(shape.rows, shape.cols);
    let most = wide.div_ceil(at_once).saturating_mul(at_once);
    if !Tiles::Wide.fit(shape.cols) {
        Tiles::Ragged
    } else if wide.saturating_mul(100) >= most.saturating_mul(policy::WIDE_BUSY) {
        Tiles::Wide
    } else {
        Tiles::Tall
    }
}

/// A grid of two dimensions over tiles of `side` × `side` elements.
fn plan_by_tile(
    name: &'static str,
    side: u32,
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks =
        |extent, axis: usize| blocks_for(extent, side, options.grid_cap, properties.max_grid[axis]);
    plan_2d(
        name,
        [blocks(shape.cols, 0), blocks(shape.rows, 1)],
        [matmul::TILE, matmul::TILE],
        properties,
    )
}

/// A grid of one dimension over all tiles of a tuned kernel.
fn plan_by_policy(
    name: &'static str,
    policy: &Policy,
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let tiles = policy.tiles(shape.rows, shape.cols);
    plan_1d(
        name,
        blocks_for(tiles, 1, options.grid_cap, properties.max_grid[0]),
        policy.threads() as u32,
        policy.shared_bytes() as u64,
        properties,
    )
}

#[cfg(test)]
mod tests;
