//! Reductions that read 16 bytes at a time and several times before they fold.
//!
//! Change from [`shuffle`](super::shuffle): a thread of that kernel has one load of 4 bytes under way, waits for it, and loads again. Memory
//! answers after some 700 cycles, so what counts is how many bytes are asked for meanwhile. Here a thread asks for [`IN_FLIGHT`] packs of
//! 16 bytes from each operand, then folds them all. How the block combines its threads' values stays the same.
//!
//! - The packs lie at multiples of 16 bytes. The up to three elements before the first one and behind the last one go to the grid's
//!   first threads, an element each. Operands of a dot product that lie differently in their packs are read element by element.
//! - A block takes tiles of `block` · [`IN_FLIGHT`] neighbouring packs, strided by the grid; thread t the packs t, t + block, …: each load
//!   of a warp is 512 neighbouring bytes. The last tile may be part of one.
//! - Each lane of a pack has a sum of its own; the thread folds the lanes at the end.

use cuda_std::prelude::*;

use super::shuffle::shuffle;
use super::{reductions, write_partial};
use crate::number::Scalar;
use crate::pack::{Pack, elements_before};
use crate::unroll::unrolled;

/// Packs of each operand that a thread has under way.
pub const IN_FLIGHT: usize = 4;

reductions! {
    shuffle,
    "One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.";
    i64: dot_wide_i64 sum_wide_i64 min_wide_i64 max_wide_i64;
    f32: dot_wide_f32 sum_wide_f32 min_wide_f32 max_wide_f32;
    f64: dot_wide_f64 sum_wide_f64 min_wide_f64 max_wide_f64;
}

/// A type whose elements fill a pack.
pub(super) trait Packed: Scalar {
    /// Folds this thread's share of `0..len`; `fold` gets an element of each operand.
    ///
    /// # Safety
    /// Every operand has `len` elements.
    unsafe fn fold_share<const OPERANDS: usize>(
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
            unsafe fn fold_share<const OPERANDS: usize>(
                operands: [*const Self; OPERANDS],
                len: usize,
                start: Self,
                fold: impl Fn(Self, [Self; OPERANDS]) -> Self,
                op: fn(Self, Self) -> Self,
            ) -> Self {
                // SAFETY: passed on to the caller.
                unsafe { fold_packs::<$t, { 16 / size_of::<$t>() }, OPERANDS>(operands, len, start, fold, op) }
            }
        }
    )*};
}
packed!(i64 f32 f64);

/// This thread's share of Σ a\[i\]·b\[i\].
///
/// # Safety
/// `b` is at least as long as `a`.
#[inline(always)]
pub(super) unsafe fn dot_share<T: Packed>(a: &[T], b: &[T]) -> T {
    let fold = |sum, [x, y]: [T; 2]| x.mul_add(y, sum);
    // SAFETY: passed on to the caller.
    unsafe { T::fold_share([a.as_ptr(), b.as_ptr()], a.len(), T::ZERO, fold, T::add) }
}

/// This thread's share of a fold of `input`.
#[inline(always)]
pub(super) fn share<T: Packed>(input: &[T], start: T, op: fn(T, T) -> T) -> T {
    // SAFETY: the operand is as long as it is.
    unsafe {
        T::fold_share(
            [input.as_ptr()],
            input.len(),
            start,
            |value, [x]| op(value, x),
            op,
        )
    }
}

#[inline(always)]
unsafe fn fold_packs<T: Scalar, const LANES: usize, const OPERANDS: usize>(
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
    let mut value = start;
    if operands
        .iter()
        .any(|&operand| elements_before(operand) != head)
    {
        let mut i = in_grid;
        while i < len {
            value = fold(value, element(i));
            i += blocks * threads;
        }
        return value;
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
