//! Reductions that read 16 bytes at a time and several times before they fold.
//!
//! Change from [`shuffle`](super::shuffle): a thread of that kernel asks for four elements of 4 bytes, waits, and folds them. Memory
//! answers after some 700 cycles, so what counts is how many bytes are asked for meanwhile. Here a thread asks for four packs of
//! 16 bytes from each operand. How the block combines its threads' values stays the same.
//!
//! - The packs lie at multiples of 16 bytes. The up to three elements before the first one and behind the last one go to the grid's
//!   first threads, an element each. Operands of a dot product that lie differently in their packs are read as `shuffle` reads them.
//! - A block takes tiles of `block` · 4 neighbouring packs, strided by the grid; thread t the packs t, t + block, …: each load
//!   of a warp is 512 neighbouring bytes. The last tile may be part of one.
//! - Each lane of a pack has a sum of its own; the thread folds the lanes at the end.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 6.1 | 4.65 | 4.64 | 4.66 | 4.62 |
//! | [`shuffle`](super::shuffle) | 5.8 | 4.47 | 4.46 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 5.6 | 4.63 | 4.61 | 4.66 | 4.64 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |

use cuda_std::prelude::*;

use super::policy::InFlight;
use super::shuffle::shuffle;
use super::{grid_stride, reductions, write_partial};
use crate::number::Scalar;
use crate::pack::{BYTES, Pack, elements_before};
use crate::unroll::unrolled;

const IN_FLIGHT: usize = InFlight::Four.packs();

reductions! {
    shuffle,
    "One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.";
    i64: dot_wide_i64 sum_wide_i64 min_wide_i64 max_wide_i64;
    f32: dot_wide_f32 sum_wide_f32 min_wide_f32 max_wide_f32;
    f64: dot_wide_f64 sum_wide_f64 min_wide_f64 max_wide_f64;
}

#[inline(always)]
unsafe fn dot_share<T: Packed>(a: &[T], b: &[T]) -> T {
    // SAFETY: passed on to the caller.
    unsafe { dot_share_by::<T, IN_FLIGHT>(a, b) }
}

#[inline(always)]
fn share<T: Packed>(input: &[T], start: T, op: fn(T, T) -> T) -> T {
    share_by::<T, IN_FLIGHT>(input, start, op)
}

/// A type whose elements fill a pack.
pub(super) trait Packed: Scalar {
    /// Folds this thread's share of `0..len`, with so many packs under way; `fold` gets an element of each operand.
    ///
    /// # Safety
    /// Every operand has `len` elements.
    unsafe fn fold_share<const OPERANDS: usize, const IN_FLIGHT: usize>(
        operands: [*const Self; OPERANDS],
        len: usize,
        start: Self,
        fold: impl Fn(Self, [Self; OPERANDS]) -> Self,
        op: fn(Self, Self) -> Self,
    ) -> Self;
}

macro_rules! packed {
    ($($t:ident)*) => {$(
        impl Packed for $t {
            #[inline(always)]
            unsafe fn fold_share<const OPERANDS: usize, const IN_FLIGHT: usize>(
                operands: [*const Self; OPERANDS],
                len: usize,
                start: Self,
                fold: impl Fn(Self, [Self; OPERANDS]) -> Self,
                op: fn(Self, Self) -> Self,
            ) -> Self {
                const LANES: usize = BYTES / size_of::<$t>();
                // SAFETY: passed on to the caller.
                unsafe { fold_packs::<$t, LANES, OPERANDS, IN_FLIGHT>(operands, len, start, fold, op) }
            }
        }
    )*};
}
packed!(i64 f32 f64);

/// This thread's share of Σ a\[i\]·b\[i\], with so many packs of each under way.
///
/// # Safety
/// `b` is at least as long as `a`.
#[inline(always)]
pub(super) unsafe fn dot_share_by<T: Packed, const IN_FLIGHT: usize>(a: &[T], b: &[T]) -> T {
    let operands = [a.as_ptr(), b.as_ptr()];
    let fold = |sum, [x, y]: [T; 2]| x.mul_add(y, sum);
    // SAFETY: passed on to the caller.
    unsafe { T::fold_share::<2, IN_FLIGHT>(operands, a.len(), T::ZERO, fold, T::add) }
}

/// This thread's share of a fold of `input`, with so many packs under way.
#[inline(always)]
pub(super) fn share_by<T: Packed, const IN_FLIGHT: usize>(
    input: &[T],
    start: T,
    op: fn(T, T) -> T,
) -> T {
    let fold = |value, [x]: [T; 1]| op(value, x);
    // SAFETY: the operand is as long as it is.
    unsafe { T::fold_share::<1, IN_FLIGHT>([input.as_ptr()], input.len(), start, fold, op) }
}

#[inline(always)]
unsafe fn fold_packs<
    T: Scalar,
    const LANES: usize,
    const OPERANDS: usize,
    const IN_FLIGHT: usize,
>(
    operands: [*const T; OPERANDS],
    len: usize,
    start: T,
    fold: impl Fn(T, [T; OPERANDS]) -> T,
    op: fn(T, T) -> T,
) -> T {
    let threads = thread::block_dim_x() as usize;
    let (thread, block) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    let blocks = thread::grid_dim_x() as usize;
    let in_grid = block * threads + thread;
    // SAFETY: the caller's promise, for every i below `len`.
    let element = |i: usize| operands.map(|operand| unsafe { operand.add(i).read() });

    let head = elements_before(operands[0]);
    if operands
        .iter()
        .any(|&operand| elements_before(operand) != head)
    {
        return grid_stride(len, start, element, fold);
    }

    let head = if head < len { head } else { len };
    let packs = (len - head) / LANES;
    let pack = |i: usize| {
        // SAFETY: the caller's promise, for every pack below `packs`; they lie at multiples of 16 bytes.
        operands
            .map(|operand| unsafe { operand.add(head).cast::<Pack<T, LANES>>().add(i).read().0 })
    };
    let mut lanes = [start; LANES];
    let add = |lanes: &mut [T; LANES], packs: [[T; LANES]; OPERANDS]| {
        unrolled::<LANES>(|lane| lanes[lane] = fold(lanes[lane], packs.map(|pack| pack[lane])));
    };
    let tile = threads * IN_FLIGHT;
    let mut first = block * tile;
    while first + tile <= packs {
        let loaded: [_; IN_FLIGHT] =
            core::array::from_fn(|part| pack(first + part * threads + thread));
        unrolled::<IN_FLIGHT>(|part| add(&mut lanes, loaded[part]));
        first += blocks * tile;
    }
    // At most one block has the tile that is not whole.
    let mut i = first + thread;
    while i < packs {
        add(&mut lanes, pack(i));
        i += threads;
    }

    let mut value = start;
    if in_grid < head {
        value = fold(value, element(in_grid));
    }
    let tail = head + packs * LANES;
    if tail + in_grid < len {
        value = fold(value, element(tail + in_grid));
    }
    unrolled::<LANES>(|lane| value = op(value, lanes[lane]));
    value
}
