//! Transpose through a tile in shared memory.
//!
//! Change from [`naive`](super::naive): the turn happens in shared memory, so global memory is read and written by rows. The weakness
//! that is left: a warp reads a column of the tile, whose 32 slots are 32 words apart and so lie in one bank: a 32-way conflict.
//!
//! 16384² `f32` on an H200: 1.26 ms, where `naive` takes 3.88.

use cuda_std::prelude::*;

use super::{TILE, through_tile, transposes};

/// Slots from one row of the tile to the next.
const PITCH: usize = TILE as usize;

macro_rules! transpose {
    ($t:ident, $($argument:ident),*) => {
        through_tile::<$t, PITCH>($($argument,)* shared_array![$t; TILE as usize * PITCH])
    };
}
transposes! {
    #[kernel]
    transpose_tiled_u32: u32;
    transpose_tiled_u64: u64;
}
