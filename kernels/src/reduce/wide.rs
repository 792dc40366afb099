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
use super::warps::shuffle;
use super::{Max, Min, Op, Sum, grid_stride, write_partial};
use crate::number::Scalar;
use crate::pack::{BYTES, Pack, elements_before, lanes};
use cuda_std::unroll::unrolled;

const IN_FLIGHT: usize = InFlight::Four.packs();

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element for each block.
///
/// # Launch
/// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
#[kernel(
    instances(i64, f32, f64),
    require(
        a.len() == b.len(),
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn dot_wide<T: Scalar>(a: &[T], b: &[T], mut partials: Out<T, PerBlock>) {
    // SAFETY: `require` states equal lengths and whole warps along x; the launch sees to an element
    // for each block.
    unsafe {
        let sum = dot_share::<T, { lanes::<T>() }, IN_FLIGHT>(a, b);
        write_partial(partials.as_mut_ptr(), shuffle::<T, Sum>(sum));
    }
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the smallest or the largest element. Of the latter NaN,
/// if there is one.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element for each block.
///
/// # Launch
/// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
#[kernel(
    instances((i64 | f32 | f64, Sum | Min | Max)),
    name = "{O}_wide_{T}",
    require(
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn fold_wide<T: Scalar, O: Op>(input: &[T], mut partials: Out<T, PerBlock>) {
    let value = share::<T, O, { lanes::<T>() }, IN_FLIGHT>(input);
    // SAFETY: `require` states whole warps along x; the launch sees to an element for each block.
    unsafe { write_partial(partials.as_mut_ptr(), shuffle::<T, O>(value)) };
}

/// This thread's share of Σ a\[i\]·b\[i\], with so many packs of each under way.
///
/// # Safety
/// `b` is at least as long as `a`.
#[inline(always)]
pub(super) unsafe fn dot_share<T: Scalar, const LANES: usize, const IN_FLIGHT: usize>(
    a: &[T],
    b: &[T],
) -> T {
    let operands = [a.as_ptr(), b.as_ptr()];
    let fold = |sum, [x, y]: [T; 2]| x.mul_add(y, sum);
    // SAFETY: passed on to the caller.
    unsafe { fold_packs::<T, Sum, LANES, 2, IN_FLIGHT>(operands, a.len(), fold) }
}

/// This thread's share of a fold of `input`, with so many packs under way.
#[inline(always)]
pub(super) fn share<T: Scalar, O: Op, const LANES: usize, const IN_FLIGHT: usize>(
    input: &[T],
) -> T {
    let fold = |value, [x]: [T; 1]| O::apply(value, x);
    // SAFETY: the operand is as long as it is.
    unsafe { fold_packs::<T, O, LANES, 1, IN_FLIGHT>([input.as_ptr()], input.len(), fold) }
}

/// Folds this thread's share of `0..len`, with so many packs under way; `fold` gets an element of each operand.
///
/// # Safety
/// Every operand has `len` elements.
#[inline(always)]
unsafe fn fold_packs<
    T: Scalar,
    O: Op,
    const LANES: usize,
    const OPERANDS: usize,
    const IN_FLIGHT: usize,
>(
    operands: [*const T; OPERANDS],
    len: usize,
    fold: impl Fn(T, [T; OPERANDS]) -> T,
) -> T {
    const {
        assert!(
            size_of::<T>() * LANES == BYTES,
            "no pack has that many lanes"
        )
    };
    let start = O::identity();
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
    // ANCHOR: packs
    let tile = threads * IN_FLIGHT;
    let mut first = block * tile;
    while first + tile <= packs {
        let loaded: [_; IN_FLIGHT] =
            core::array::from_fn(|part| pack(first + part * threads + thread));
        unrolled::<IN_FLIGHT>(|part| add(&mut lanes, loaded[part]));
        first += blocks * tile;
    }
    // ANCHOR_END: packs
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
    unrolled::<LANES>(|lane| value = O::apply(value, lanes[lane]));
    value
}
