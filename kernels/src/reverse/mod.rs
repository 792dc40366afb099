//! Array reverse: output\[n − 1 − i\] = input\[i\].
//!
//! The smallest kernels that need shared memory and a barrier: a block reverses a tile in shared
//! memory, so that global memory is read and written in order. [`fixed`] sets the tile's size in
//! the kernel, [`dynamic`] in the launch; [`direct`] shows that reversing needs no shared memory.
//! Instances are by width, as in [`transpose`](crate::transpose).

pub mod along;
pub mod direct;
pub mod dynamic;
pub mod fixed;

/// Threads per block, and elements per tile, in [`fixed`]; the default of the others.
pub const THREADS: u32 = 256;
