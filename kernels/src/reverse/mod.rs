//! Array reversal: output\[n − 1 − i\] = input\[i\].
//!
//! The smallest kernels that need shared memory and a barrier: a block reverses a tile in shared memory, so that global memory is
//! read and written in order. [`fixed`] and [`dynamic`] differ in who decides the tile's size; [`direct`] shows that this work needs neither. By
//! width, as [`transpose`](crate::transpose).

pub mod direct;
pub mod dynamic;
pub mod fixed;

/// Threads of a block, and elements of a tile, in [`fixed`]; what the others take unless they are told.
pub const THREADS: u32 = 256;
