//! Matrix transpose: output\[col, row\] = input\[row, col\], both row-major.
//!
//! Nothing is computed, so instances are by width: `u32` also moves `f32` and `i32`, `u64` also
//! `f64` and `i64`. The kernels differ only in how they traverse global and shared memory.

pub mod aligned;
pub mod naive;
pub mod packs;
pub mod padded;
pub mod quads;
pub mod thin;
pub mod tiled;

/// Side of a tile, except in [`aligned`], [`thin`], [`quads`] and [`packs`]. One row of a tile is
/// one access of a warp.
pub const TILE: u32 = 32;

/// Rows of threads per block: each thread moves TILE / ROWS elements.
pub const ROWS: u32 = 8;

const SIDE: usize = TILE as usize;
const HEIGHT: usize = ROWS as usize;
