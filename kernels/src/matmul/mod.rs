//! Matrix product C = A·B, all matrices row-major: A is rows × inner, B is inner × cols, C is rows × cols.

mod asm;
pub mod naive;
pub mod pipelined;
pub mod policy;
pub mod register_tile;
mod stage;
pub mod tiled;

/// Side of the square tiles of C, and of a block of threads.
pub const TILE: u32 = 16;
