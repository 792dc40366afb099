//! Which products move 16 bytes at a time.

use kernels::matmul::policy::VECTOR;

use super::{MMA, SLICED, extents};
use crate::operation::{Problem, Variant};

/// Whether an instance that moves 16 bytes at a time can compute the product and pays.
///
/// 16-byte copies bypass the L1 cache, and [`sliced`](kernels::matmul::sliced) reads the last
/// columns in place of those beyond the matrix. If most columns are beyond it, all blocks wait for
/// one line of the L2 cache: f32 16547 × 237 × 4 takes 55 µs, where 15 were predicted.
pub(super) fn vectors(
    kernel: &Variant,
    [_, inner, cols]: [usize; 3],
    bytes: usize,
    pitch: usize,
    [a, b, c]: [bool; 3],
) -> bool {
    let whole = |extent: usize| extent.is_multiple_of(lanes(bytes));
    let broad = cols > NARROW_BYTES / bytes;
    if *kernel == MMA {
        a && b && c && whole(inner) && whole(cols)
    } else {
        // Rows of C that are no whole packs are stored by elements, wherever they begin.
        b && (c || !whole(cols)) && whole(pitch) && broad
    }
}

/// Elements in 16 bytes.
pub(super) const fn lanes(bytes: usize) -> usize {
    kernels::pack::BYTES / bytes
}

/// The widest row of B in bytes whose columns are read one by one.
const NARROW_BYTES: usize = 32;

/// Whether single elements of B move, and 16 bytes of a copy.
pub(super) fn need_copies(problem: &Problem) -> bool {
    let (of, bytes) = (extents(problem), problem.ty.bytes());
    let with = |pitch| vectors(&SLICED, of, bytes, pitch, [true; 3]);
    !with(of[2]) && with(VECTOR)
}
