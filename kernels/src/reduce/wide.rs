//! Reductions with four 16-byte loads in flight per thread.
//!
//! Change from [`shuffle`](super::shuffle): a thread of that kernel loads four 4-byte elements,
//! waits, and folds them. A load takes about 700 cycles, so what counts is the number of bytes in
//! flight. Here a thread loads four packs of 16 bytes from each operand. The block combines its
//! threads' values as before.
//!
//! - Packs are aligned to 16 bytes. The up to three elements before the first and after the last
//!   pack go to the grid's first threads, one element each. Operands of a dot product with
//!   different alignments are read as in `shuffle`.
//! - A dot product has [two packs of each operand](DOT_IN_FLIGHT) in flight: four loads. Its
//!   launch bounds allow 64 registers: with none, ptxas takes 32 of `f32` and starts the second half
//!   of the loads after the first's arithmetic.
//! - Each load of a warp is 512 contiguous bytes. A thread's packs are a block apart: a block takes
//!   tiles of `block` · 4 adjacent packs, strided by the grid. Those of a sum are
//!   [a grid apart](CACHED) unless it is long.
//! - Small blocks with few `f64` each add them next to [an anchor](super::anchored), and fold sums
//!   that are divided by it. The barrier that orders the sums says whether all threads have.
//! - A sum's loads beyond the last pack give zeros, so that all loads of an incomplete tile are in
//!   flight together. Minima and maxima would need another number there, which takes registers and
//!   up to 1.16 of the time (H100): they read an incomplete tile pack by pack.
//! - The launch bounds keep minima, maxima and sums of integers within 32 registers, so that two
//!   blocks of 1024 threads fit; sums of floats, whose blocks are small, take 56.
//! - Each lane of a pack has its own minimum or maximum; lanes share
//!   [one sum or two](super::Addend::SUMS). The thread folds them at the end.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 6.1 | 4.65 | 4.64 | 4.66 | 4.62 |
//! | [`shuffle`](super::shuffle) | 5.8 | 4.47 | 4.46 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 5.6 | 4.63 | 4.61 | 4.66 | 4.64 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |

use cuda_std::prelude::*;

use super::anchored::{Anchored, MOST, THREADS};
use super::lanes::WARP;
use super::policy::IN_FLIGHT;
use super::warps::{Share, fold_block};
use super::{Addend, Extreme, Op, Sum, grid_stride, write_partial};
use crate::matmul::asm::load_if;
use crate::pack::{BYTES, Pack, elements_before, lanes};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{WarpReductionOp, warp_reduce};

/// Packs of each operand of a dot product in flight.
pub const DOT_IN_FLIGHT: usize = 2;

/// Packs of an operand up to which a thread's are a grid apart: 32 MiB. Every thread then has the
/// same number of them but for one. Longer operands, which come from memory, are read in tiles.
pub const CACHED: usize = 1 << 21;

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any
/// grid.
#[kernel(
    instances(i64, f32, f64),
    max_threads = 1024,
    min_blocks = 1,
    require(
        a.len() == b.len(),
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn dot_wide<T: Addend>(a: &[T], b: &[T], mut partials: Out<<T as Addend>::Partial, PerBlock>) {
    // SAFETY: `require` states equal lengths and whole warps along x; the launch provides one
    // element per block.
    unsafe {
        let sum = dot_share::<T, { lanes::<T>() }, DOT_IN_FLIGHT, true>(a, b);
        write_partial(partials.as_mut_ptr(), fold_block::<T, Sum, true>(sum));
    }
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the minimum or the
/// maximum. Minimum and maximum propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any
/// grid.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_wide_{T}",
    max_threads = 1024,
    min_blocks = [2, 2, 1, 2, 1, 2],
    require(
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn fold_wide<T: Addend, O: Op>(
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    flip: u64,
) {
    // SAFETY: `require` states whole warps along x; the launch provides one element per block.
    unsafe {
        let value = share::<T, O, { lanes::<T>() }, IN_FLIGHT, true>(input, flip);
        write_partial(
            partials.as_mut_ptr(),
            O::partial::<T>(fold_block::<T, O, true>(value), flip),
        )
    };
}

/// This thread's share of Σ a\[i\]·b\[i\], with IN_FLIGHT packs of each operand in flight. If
/// ANCHORED, few terms are added as [`anchored`](super::anchored) states.
///
/// # Safety
/// Whole warps call it. `b` is at least as long as `a`.
#[inline(always)]
pub unsafe fn dot_share<
    T: Addend,
    const LANES: usize,
    const IN_FLIGHT: usize,
    const ANCHORED: bool,
>(
    a: &[T],
    b: &[T],
) -> Share<T::Partial> {
    let operands = [a.as_ptr(), b.as_ptr()];
    let fold = |sum, [x, y]: [T; 2]| x.mul_add_to(y, sum);
    // A product is added at once.
    let pair = |sum, first, second| fold(fold(sum, first), second);
    // SAFETY: passed on to the caller.
    unsafe { fold_packs::<T, Sum, LANES, 2, IN_FLIGHT, ANCHORED>(operands, a.len(), fold, pair) }
}

/// This thread's share of a fold of `input`, with IN_FLIGHT packs in flight; ANCHORED as for
/// [`dot_share`].
///
/// # Safety
/// Whole warps call it.
#[inline(always)]
pub unsafe fn share<
    T: Addend,
    O: Op,
    const LANES: usize,
    const IN_FLIGHT: usize,
    const ANCHORED: bool,
>(
    input: &[T],
    flip: u64,
) -> Share<O::Value<T>> {
    let turned = |x| O::turned(x, flip);
    let fold = |value, [x]: [T; 1]| O::fold(value, turned(x));
    let pair = |value, [x]: [T; 1], [y]: [T; 1]| {
        O::merge::<T>(value, O::fold(O::one(turned(x)), turned(y)))
    };
    // SAFETY: the caller's promise; there is one operand, and `len` is its length.
    unsafe {
        fold_packs::<T, O, LANES, 1, IN_FLIGHT, ANCHORED>([input.as_ptr()], input.len(), fold, pair)
    }
}

/// The packs of a thread that are `stride` apart from `first` on.
#[derive(Clone, Copy)]
struct Mine {
    first: usize,
    packs: usize,
    stride: usize,
}

/// The sum of a thread's packs and of an element outside of packs, in [parts](Anchored::parts);
/// `None` if the anchor by a block's `sample` is too small. `load` starts at a pack.
///
/// # Safety
/// Whole warps call it. A thread has at most [`MOST`] terms in packs.
#[inline(always)]
unsafe fn anchored<T: Addend, const LANES: usize, const OPERANDS: usize, const IN_FLIGHT: usize>(
    sample: [T; OPERANDS],
    load: impl Fn(usize) -> [[[T; LANES]; OPERANDS]; IN_FLIGHT],
    mine: Mine,
    has_one_more: bool,
    one_more: impl FnOnce() -> [T; OPERANDS],
) -> Option<T::Partial> {
    let Mine {
        mut first,
        packs,
        stride,
    } = mine;
    let mut loaded = load(first);
    let most = T::Anchored::magnitude(sample);
    // SAFETY: the caller's promise.
    let most = unsafe { warp_reduce(u32::MAX, most, WarpReductionOp::Max) };
    let mut sum = T::Anchored::above(most)?;
    loop {
        unrolled::<IN_FLIGHT>(|part| {
            unrolled::<LANES>(|lane| sum = sum.plus(loaded[part].map(|pack| pack[lane])));
        });
        first += stride;
        if first >= packs {
            break;
        }
        loaded = load(first);
    }
    if has_one_more {
        sum = sum.plus(one_more());
    }
    sum.parts()
}

/// Folds this thread's share of `0..len`, with IN_FLIGHT packs of each operand in flight; `fold`
/// gets one element of each operand, `pair` two.
///
/// # Safety
/// Whole warps call it. Every operand has `len` elements.
#[inline(always)]
unsafe fn fold_packs<
    T: Addend,
    O: Op,
    const LANES: usize,
    const OPERANDS: usize,
    const IN_FLIGHT: usize,
    const ANCHORED: bool,
>(
    operands: [*const T; OPERANDS],
    len: usize,
    fold: impl Fn(O::Value<T>, [T; OPERANDS]) -> O::Value<T>,
    pair: impl Fn(O::Value<T>, [T; OPERANDS], [T; OPERANDS]) -> O::Value<T>,
) -> Share<O::Value<T>> {
    const {
        assert!(
            size_of::<T>() * LANES == BYTES,
            "no pack has that many lanes"
        )
    };
    let start = O::start::<T>();
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
    let differs = |&operand: &*const T| elements_before(operand) != head;
    if operands.iter().any(differs) {
        let value = grid_stride(len, start, element, fold);
        return Share {
            value,
            parts: false,
        };
    }

    let head = if head < len { head } else { len };
    let packs = (len - head) / LANES;
    let pack = |i: usize| {
        // SAFETY: the caller's promise, for every pack below `packs`; they are aligned to 16 bytes.
        operands.map(|operand| unsafe {
            load_if::<T, LANES>(operand.wrapping_add(head + i * LANES), i < packs)
        })
    };
    let whole_pack = |i: usize| {
        // SAFETY: as above, for a pack that exists.
        operands
            .map(|operand| unsafe { operand.add(head).cast::<Pack<T, LANES>>().add(i).read().0 })
    };
    // Values from `kept` on are not used.
    let (mut values, (kept, pairs)) = ([start; LANES], O::kept::<T>());
    let add = |values: &mut [O::Value<T>; LANES], packs: [[T; LANES]; OPERANDS]| {
        let elements = |lane: usize| packs.map(|pack| pack[lane]);
        unrolled::<LANES>(|lane| {
            let value = &mut values[lane % kept];
            if !pairs {
                *value = fold(*value, elements(lane));
            } else if lane < kept {
                *value = pair(*value, elements(lane), elements(lane + kept));
            }
        });
    };
    let (tile, grid) = (threads * IN_FLIGHT, blocks * threads);
    // Elements outside of packs go to the grid's first threads.
    let has_one_more = in_grid < len - packs * LANES;
    let one_more = || element(in_grid + if in_grid < head { 0 } else { packs * LANES });
    if O::ZERO_IS_NOTHING {
        // ANCHOR: packs
        let (mut first, apart) = if packs > CACHED {
            (block * tile + thread, threads)
        } else {
            (in_grid, grid)
        };
        let load = |first: usize| -> [_; IN_FLIGHT] {
            core::array::from_fn(|part| pack(first + part * apart))
        };
        // ANCHOR_END: packs
        let few = threads <= THREADS && packs <= grid * (MOST / LANES);
        if ANCHORED && T::Anchored::FASTER && few {
            // Of the block's first 32 elements in packs.
            let at = (first - thread) * LANES + thread % WARP as usize;
            let mine = Mine {
                first,
                packs,
                stride: grid * IN_FLIGHT,
            };
            // SAFETY: whole warps are here; elements of packs exist.
            let sum = unsafe {
                let sample = operands.map(|operand| {
                    let [x] = load_if::<T, 1>(operand.wrapping_add(head + at), at < packs * LANES);
                    x
                });
                anchored(sample, load, mine, has_one_more, one_more)
            };
            if let Some(sum) = sum {
                return Share {
                    value: O::of_partial::<T>(sum, 0),
                    parts: true,
                };
            }
        }
        // ANCHOR: rounds
        while first < packs {
            let loaded = load(first);
            unrolled::<IN_FLIGHT>(|part| add(&mut values, loaded[part]));
            first += grid * IN_FLIGHT;
        }
        // ANCHOR_END: rounds
    } else {
        let mut first = block * tile;
        while first + tile <= packs {
            let loaded: [_; IN_FLIGHT] =
                core::array::from_fn(|part| whole_pack(first + part * threads + thread));
            unrolled::<IN_FLIGHT>(|part| add(&mut values, loaded[part]));
            first += blocks * tile;
        }
        // At most one block has the incomplete tile.
        let mut i = first + thread;
        while i < packs {
            add(&mut values, whole_pack(i));
            i += threads;
        }
    }

    let mut value = values[0];
    unrolled::<LANES>(|lane| {
        if lane > 0 && lane < kept {
            value = O::merge::<T>(value, values[lane]);
        }
    });
    if has_one_more {
        value = fold(value, one_more());
    }
    Share {
        value,
        parts: false,
    }
}
