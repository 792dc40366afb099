//! Which products move 16 bytes at a time.

use kernels::pack::lanes;

use super::{MatmulKernel, MatmulShape};
use crate::Float;

/// Whether an instance that moves 16 bytes at a time can compute the product and pays.
///
/// 16-byte copies bypass the L1 cache, and [`sliced`](kernels::matmul::sliced) reads the last
/// columns in place of those beyond the matrix. If most columns are beyond it, all blocks wait for
/// one line of the L2 cache: f32 16547 × 237 × 4 takes 55 µs, where 15 were predicted.
pub(super) fn vectors<T: Float>(
    kernel: MatmulKernel,
    MatmulShape { inner, cols, .. }: MatmulShape,
    pitch: usize,
    [a, b, c]: [bool; 3],
) -> bool {
    let whole = |extent: usize| extent.is_multiple_of(lanes::<T>());
    let broad = cols > NARROW_BYTES / size_of::<T>();
    match kernel {
        MatmulKernel::Mma => a && b && c && whole(inner) && whole(cols),
        MatmulKernel::Vector if cols == 1 => a && b && whole(inner),
        MatmulKernel::Vector => b && whole(cols),
        _ => b && c && whole(pitch) && broad,
    }
}

/// The widest row of B in bytes whose columns are read one by one.
const NARROW_BYTES: usize = 32;
