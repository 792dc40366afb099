//! Which products move 16 bytes at a time.

use kernels::matmul::policy::VECTOR;
use kernels::matmul::slices::Cut;

use super::{MMA, SLICED, extents};
use crate::operation::{Problem, Variant};

/// Whether an instance that moves 16 bytes at a time can compute the product of aligned operands, and
/// pays. Tiles of [`sliced`](kernels::matmul::sliced) that [`fit`] take others too.
///
/// 16-byte copies bypass the L1 cache, and tiles of 128 × 64 read the last columns in place of those
/// beyond the matrix; all tiles did when this was measured. If most columns are beyond it, all
/// blocks wait for one line of the L2 cache: f32 16547 × 237 × 4 takes 55 µs, where 15 were
/// predicted.
pub(super) fn vectors(
    kernel: &Variant,
    [_, inner, cols]: [usize; 3],
    bytes: usize,
    pitch: usize,
) -> bool {
    let whole = |extent: usize| extent.is_multiple_of(lanes(bytes));
    let broad = cols > NARROW_BYTES / bytes;
    if *kernel == MMA {
        whole(inner) && whole(cols) && inner > 0
    } else {
        whole(pitch) && broad
    }
}

/// Whether these tiles can move vectors, if B and C begin at multiples of 16 bytes, or not.
pub(super) fn fit(cut: Cut, [b, c]: [bool; 2], cols: usize) -> bool {
    // Rows of C that are no whole vectors are stored by elements, wherever they begin.
    cut.policy(true).anywhere || b && (c || !cols.is_multiple_of(VECTOR))
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
    let with = |pitch| vectors(&SLICED, of, bytes, pitch);
    !with(of[2]) && with(VECTOR)
}
