//! Matrix product C = A·B, all matrices row-major: A is rows × inner, B is inner × cols, C is rows
//! × cols.

pub mod anywhere;
pub(crate) mod asm;
pub mod direct;
pub mod few_cols;
pub mod few_rows;
pub mod fold;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "compute_90a"))]
mod hopper;
pub mod mma;
pub mod naive;
pub mod narrow;
pub mod pipelined;
pub mod pitched;
pub mod policy;
pub mod register_tile;
pub mod short;
pub mod sliced;
pub mod slices;
pub mod small;
pub mod split;
mod stage;
// The host compiles it for its constants.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "compute_90a"))]
pub mod tensor;
pub mod thin;
pub mod ticket;
pub mod tiled;

/// Side of the square tiles of C, and of a block of threads.
pub const TILE: u32 = 16;
