//! Which matrix product is launched, and how.

use blockwise::{DeviceProperties, Plain as _};
use kernels::matmul::policy::Tiles;
use kernels::matmul::slices::Slicing;
use kernels::matmul::{self, register_tile, vector};

use super::routines::{Instance, MatmulLaunch};
use super::vectors::vectors;
use super::{MatmulKernel, MatmulOptions, MatmulShape, choice, mma};
use crate::launch::Ready;
use crate::limits::{blocks_for, plan_1d, plan_2d};
use crate::{Float, LaunchError, LaunchPlan, matrix_len};

/// Plans a product of matrices that are aligned to 16 bytes, as buffers are. `None` if there is no
/// output, so that there is nothing to launch. With several slices it is the launch that computes
/// their products.
///
/// # Errors
/// When a size overflows, a limit is exceeded, or the kernel does not compute such products.
pub fn plan<T: Float>(
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let planned = prepare::<T>(shape, shape.cols, [true; 3], options, properties)?;
    Ok(planned.map(|ready| ready.plan))
}

/// The plan for rows of B that start `pitch` elements apart. `aligned` says whether A, B and C are
/// aligned to 16 bytes.
pub(crate) fn prepare<T: Float>(
    shape: MatmulShape,
    pitch: usize,
    aligned: [bool; 3],
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<Option<Ready<MatmulLaunch<T>>>, LaunchError> {
    let kernel = options
        .kernel
        .unwrap_or_else(|| choice::kernel::<T>(shape, 1, properties));
    let slicing = options
        .slicing
        .unwrap_or_else(|| choice::slicing::<T>(kernel, shape, 1, properties));
    let vectors = vectors::<T>(kernel, shape, pitch, aligned);
    let instance = Instance {
        tiles: tiles(options.tiles, shape, aligned[1] && aligned[2], properties),
        cut: slicing.cut,
        mma: options
            .mma
            .unwrap_or_else(|| mma::tiles(shape, slicing.slices, vectors, properties)),
        vectors,
        by_rows: shape.cols == 1,
    };
    let routine = T::product(kernel, instance).ok_or(LaunchError::UnsupportedType {
        kernel: kernel.name(),
        supported: if T::NAME == f32::NAME {
            f64::NAME
        } else {
            f32::NAME
        },
        given: T::NAME,
    })?;
    let name = routine.entry.name;
    let by_tile = |side| plan_by_tile(name, side, shape, options, properties);
    let by_slices = |blocks, threads, shared_bytes| {
        plan_by_slices(
            name,
            blocks,
            threads,
            shared_bytes,
            slicing,
            options,
            properties,
        )
    };
    let MatmulShape { rows, inner, cols } = shape;
    let plan = match kernel {
        MatmulKernel::Naive | MatmulKernel::Tiled | MatmulKernel::TiledRaw => {
            by_tile(matmul::TILE)?
        }
        MatmulKernel::RegisterTile => by_tile(register_tile::SIDE)?,
        MatmulKernel::Pipelined => {
            let policy = instance.tiles.policy();
            let (tiles, threads) = (policy.tiles(rows, cols), policy.threads() as u32);
            plan_by_blocks(
                name,
                tiles,
                threads,
                policy.shared_bytes(),
                options,
                properties,
            )?
        }
        MatmulKernel::Sliced => {
            let policy = slicing.cut.policy(instance.vectors);
            let (tiles, threads) = (policy.tiles(rows, cols), policy.threads() as u32);
            by_slices(tiles, threads, policy.shared_bytes())?
        }
        MatmulKernel::Mma => {
            let policy = instance.mma.policy(instance.vectors);
            let (tiles, threads) = (policy.tiles(rows, cols), policy.threads() as u32);
            by_slices(tiles, threads, instance.mma.shared_bytes())?
        }
        MatmulKernel::Vector if !kernel.fits(shape) => {
            return Err(LaunchError::ShapeMismatch {
                left_name: "A",
                left: vec![rows, inner],
                right_name: "B",
                right: vec![inner, cols],
                rule: "the kernel `vector` multiplies a row by a matrix or a matrix by a column",
            });
        }
        MatmulKernel::Vector if instance.by_rows => {
            let blocks = choice::row_blocks::<T>(shape, properties);
            by_slices(blocks, vector::ROW_THREADS, 0)?
        }
        MatmulKernel::Vector => by_slices(vector::col_blocks::<T>(cols), vector::COL_THREADS, 0)?,
    };
    let outputs = matrix_len(rows, cols)?;
    let launch = routine.launch;
    Ok((outputs > 0).then_some(Ready { plan, launch }))
}

/// The instance of `pipelined`: the requested one if it fits, or the fastest.
pub(super) fn tiles(
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
    if !Tiles::Wide.fit(shape.cols) {
        Tiles::Ragged
    } else if choice::wide_fills(shape, properties) {
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

/// A grid of one dimension over all of a product's blocks.
fn plan_by_blocks(
    name: &'static str,
    blocks: usize,
    threads: u32,
    shared_bytes: usize,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks = blocks_for(blocks, 1, options.grid_cap, properties.max_grid[0]);
    plan_1d(name, blocks, threads, shared_bytes as u64, properties)
}

/// The same with one layer per slice.
fn plan_by_slices(
    name: &'static str,
    blocks: usize,
    threads: u32,
    shared_bytes: usize,
    slicing: Slicing,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let mut plan = plan_by_blocks(name, blocks, threads, shared_bytes, options, properties)?;
    plan.grid[2] = blocks_for(slicing.slices, 1, options.grid_cap, properties.max_grid[2]);
    Ok(plan)
}

#[cfg(test)]
mod tests;
