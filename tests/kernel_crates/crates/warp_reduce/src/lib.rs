//! `warp_reduce`, which needs sm_80.

use cuda_std::prelude::*;
use cuda_std::warp::{warp_reduce, WarpReductionOp};

/// Eight columns for each warp: sum, minimum, maximum, and, or, xor of unsigned values, minimum and
/// maximum of them as signed.
#[kernel]
pub unsafe fn warp_reductions(values: &[u32], out: *mut u32) {
    use WarpReductionOp::{Add, And, Max, Min, Or, Xor};
    let i = thread::index_1d() as usize;
    let signed = values[i] as i32;
    for (column, op) in [Add, Min, Max, And, Or, Xor].into_iter().enumerate() {
        *out.add(i / 32 * 8 + column) = warp_reduce(u32::MAX, values[i], op);
    }
    *out.add(i / 32 * 8 + 6) = warp_reduce(u32::MAX, signed, Min) as u32;
    *out.add(i / 32 * 8 + 7) = warp_reduce(u32::MAX, signed, Max) as u32;
}
