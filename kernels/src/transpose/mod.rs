//! Matrix transpose: output\[col, row\] = input\[row, col\], both row-major.
//!
//! Nothing is computed, so the kernels are by width: `u32` moves `f32` and `i32` too, `u64` moves `f64` and `i64`. What differs between
//! them is only how global and shared memory are walked.

pub mod aligned;
pub mod naive;
pub mod padded;
pub mod tiled;

/// Side of a tile, but for [`aligned`]. One row of a tile is one warp's access.
pub const TILE: u32 = 32;

/// Rows of threads in a block: each thread moves TILE / ROWS elements.
pub const ROWS: u32 = 8;

const SIDE: usize = TILE as usize;
const HEIGHT: usize = ROWS as usize;
