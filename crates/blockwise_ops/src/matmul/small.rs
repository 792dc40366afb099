//! Batches of small products: which they are, and how many a block computes.

use kernels::matmul::small::{THREADS, room, threads};

use super::{extents, is_one};
use crate::by_width::by_width;
use crate::operation::Problem;

/// The most shared memory of a block's operands.
const MOST_ROOM: usize = 64 << 10;
/// The most rows or columns with which it is the fastest kernel: f64 has the tensor cores
/// (docs/log/2026-11-27-batches.md).
const fn most_side(bytes: usize) -> usize {
    match bytes {
        4 => 128,
        _ => 16,
    }
}

fn room_of(of: [usize; 3], bytes: usize, each: usize) -> usize {
    by_width!(bytes, T => room::<T>(of, each))
}

/// Whether there is such a kernel for the product.
pub(super) fn is_small(problem: &Problem) -> bool {
    let ([rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    let outputs = rows.saturating_mul(cols) <= u32::MAX as usize;
    outputs && room_of([rows, inner, cols], bytes, 1) <= MOST_ROOM
}

/// Whether it is the fastest.
pub(super) fn pays(problem: &Problem) -> bool {
    let [rows, _, cols] = extents(problem);
    let most = most_side(problem.ty.bytes());
    !is_one(problem) && rows.max(cols) <= most && is_small(problem)
}

/// Products of a block: as many as its threads have outputs for, and shared memory has room for.
pub(super) fn each(problem: &Problem) -> usize {
    let (of, bytes) = (extents(problem), problem.ty.bytes());
    let [rows, _, cols] = of;
    let by_threads = THREADS as usize / threads(rows, cols).max(1);
    let by_room = MOST_ROOM / room_of(of, bytes, 1).max(1);
    by_threads.min(by_room).min(problem.extents[3]).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockwise::Type;

    fn of(ty: Type, batch: usize, extents: [usize; 3]) -> Problem {
        let [rows, inner, cols] = extents;
        Problem::new(ty, &[rows, inner, cols, batch])
    }

    #[test]
    fn a_block_has_as_many_products_as_fit() {
        for (ty, batch, extents, expected) in [
            (Type::F32, 10_000, [16; 3], 16),
            (Type::F32, 3, [16; 3], 3),
            (Type::F32, 1024, [64; 3], 1),
            (Type::F64, 1024, [64; 3], 1),
            (Type::F64, 100, [8, 500, 8], 1),
            (Type::F64, 100, [8, 200, 8], 2),
            (Type::F32, 7, [0; 3], 7),
        ] {
            assert_eq!(each(&of(ty, batch, extents)), expected, "{extents:?}");
        }
    }

    #[test]
    fn it_is_for_batches_whose_matrices_fit() {
        assert!(pays(&of(Type::F32, 2, [64; 3])));
        assert!(!pays(&of(Type::F32, 1, [64; 3])));
        assert!(!pays(&of(Type::F32, 2, [64, 129, 64])));
        assert!(!pays(&of(Type::F32, 2, [129, 4, 4])));
        assert!(pays(&of(Type::F64, 2, [16; 3])));
        assert!(!pays(&of(Type::F64, 2, [16, 16, 17])));
        assert!(is_small(&of(Type::F32, 1, [129, 4, 4])));
    }
}
