//! Reductions with four 16-byte loads in flight per thread.
//!
//! Change from `shuffle` of the crate `ladder`: a thread of that kernel loads four 4-byte elements,
//! waits, and folds them. A load takes about 700 cycles, so what counts is the number of bytes in
//! flight. Here a thread loads four packs of 16 bytes from each operand. The block combines its
//! threads' values as before.
//!
//! - Packs are aligned to 16 bytes. The up to three elements before the first and after the last
//!   pack go to the first block's first threads, one element each, which they load after their
//!   first packs. Operands of a dot product with different alignments are read as in `shuffle`.
//! - Elements and packs are [counted](Count) in 32 bits: the address of a pack takes one
//!   instruction, and the first load starts after 30 to 70 others instead of 60 to 100. Arrays up
//!   to 2¹⁷ elements take 0.98 of the time by it (H200, 2026-11-27).
//! - A dot product has [two packs of each operand](DOT_IN_FLIGHT) in flight: four loads. Its
//!   launch bounds allow 64 registers: with none, ptxas takes 32 of `f32` and starts the second half
//!   of the loads after the first's arithmetic.
//! - Each load of a warp is 512 contiguous bytes. A thread's packs are [a grid apart](CACHED); of
//!   long operands a block apart, in tiles of `block` · 4 adjacent packs, strided by the grid.
//! - Small blocks with few `f64` each add them next to [an anchor](super::anchored), and fold sums
//!   that are divided by it. The barrier that orders the sums says whether all threads have.
//! - A sum's loads beyond the last pack give zeros, and a minimum's or maximum's are the last pack
//!   once more, so that all loads of an incomplete tile are in flight together. A branch for each
//!   would let ptxas start a load only behind the one before.
//! - Each lane of a pack has its own minimum or maximum; lanes share
//!   [one sum or two](super::Addend::SUMS). The thread folds them at the end.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 6.1 | 4.65 | 4.64 | 4.66 | 4.62 |
//! | `shuffle` | 5.8 | 4.47 | 4.46 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 5.6 | 4.63 | 4.61 | 4.66 | 4.64 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |

use core::ops::{Add, Div, Mul, Sub};

use cuda_std::prelude::*;

use super::anchored::{Anchored, MOST, THREADS};
use super::lanes::WARP;
use super::policy::IN_FLIGHT;
use super::relaxed::store;
use super::warps::{Share, all_have, fold_block, fold_parts};
use super::{Addend, Extreme, Op, Sum, grid_stride, write_partial};
use crate::matmul::asm::load_if;
use crate::pack::{BYTES, elements_before, lanes};
use cuda_std::opaque::{opaque, opaque_u32};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{WarpReductionOp, warp_reduce};

/// Packs of each operand of a dot product in flight.
pub const DOT_IN_FLIGHT: usize = 2;

/// Packs that a thread has in flight of a long sum of `f64`.
pub const LONG: usize = 2 * IN_FLIGHT;

/// Packs in flight of an operand that is longer than [`CACHED`], and of what does not stay next to
/// an anchor.
pub const fn long<T: Addend, O: Op>() -> usize {
    if O::ZERO_IS_NOTHING && T::Anchored::FASTER {
        LONG
    } else {
        IN_FLIGHT
    }
}

/// Packs of an operand up to which a thread's are a grid apart: 32 MiB. Every thread then has the
/// same number of them but for one. Longer operands, which come from memory, are read in tiles.
pub const CACHED: usize = 1 << 21;

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Up
/// to [`BLOCKS`].
#[kernel(
    instances(i64, f32, f64),
    max_threads = 1024,
    min_blocks = 1,
    require(
        a.len() == b.len(),
        a.len() <= LONGEST,
        grid.x <= BLOCKS,
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn dot_wide<T: Addend>(a: &[T], b: &[T], mut partials: Out<<T as Addend>::Partial, PerBlock>) {
    // SAFETY: `require` states equal lengths and whole warps along x; the launch provides one
    // element per block.
    unsafe {
        let place = partials.as_mut_ptr();
        let end = |share| end::<T, Sum>(share, place, 0);
        dot_share::<T, u32, { lanes::<T>() }, DOT_IN_FLIGHT, DOT_IN_FLIGHT, true>(a, b, end);
    }
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the minimum or the
/// maximum. Minimum and maximum propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Up
/// to [`BLOCKS`].
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_wide_{T}",
    max_threads = 1024,
    min_blocks = 1,
    require(
        input.len() <= LONGEST,
        grid.x <= BLOCKS,
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
        let place = partials.as_mut_ptr();
        let end = |share| end::<T, O>(share, place, flip);
        share::<T, O, u32, { lanes::<T>() }, IN_FLIGHT, { long::<T, O>() }, true>(input, flip, end);
    };
}

/// Thread 0 writes its block's value.
///
/// # Safety
/// All threads of the block call it. `partials` has one element per block.
#[inline(always)]
unsafe fn end<T: Addend, O: Op>(share: Share<O::Value<T>>, partials: *mut T::Partial, flip: u64) {
    // SAFETY: the caller's promise; only this thread of the grid writes this element.
    unsafe {
        match share {
            // An atomic store, which LLVM does not merge with the other one: that stands behind all
            // that a short array does not need, and the jump there takes 2 % of a launch.
            Share::Block(value) => {
                if thread::thread_idx_x() == 0 {
                    let place = partials.add(thread::block_idx_x() as usize);
                    store(place, O::partial::<T>(value, flip));
                }
            }
            share => write_partial(partials, O::partial::<T>(fold_block::<T, O>(share), flip)),
        }
    }
}

/// This thread's share of Σ a\[i\]·b\[i\], with IN_FLIGHT packs of each operand in flight. If
/// ANCHORED, few terms are added as [`anchored`](super::anchored) states.
///
/// # Safety
/// Whole warps call it. `b` is at least as long as `a`.
#[inline(always)]
pub unsafe fn dot_share<
    T: Addend,
    N: Count,
    const LANES: usize,
    const IN_FLIGHT: usize,
    const LONG: usize,
    const ANCHORED: bool,
>(
    a: &[T],
    b: &[T],
    end: impl Fn(Share<T::Partial>),
) {
    let operands = [a.as_ptr(), b.as_ptr()];
    let fold = |sum, [x, y]: [T; 2]| x.mul_add_to(y, sum);
    // A product is added at once.
    let pair = |sum, first, second| fold(fold(sum, first), second);
    // SAFETY: passed on to the caller.
    unsafe {
        fold_packs::<T, Sum, N, LANES, 2, IN_FLIGHT, LONG, ANCHORED>(
            operands,
            a.len(),
            fold,
            pair,
            end,
        )
    }
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
    N: Count,
    const LANES: usize,
    const IN_FLIGHT: usize,
    const LONG: usize,
    const ANCHORED: bool,
>(
    input: &[T],
    flip: u64,
    end: impl Fn(Share<O::Value<T>>),
) {
    let turned = |x| O::turned(x, flip);
    let fold = |value, [x]: [T; 1]| O::fold(value, turned(x));
    let pair = |value, [x]: [T; 1], [y]: [T; 1]| {
        O::merge::<T>(value, O::fold(O::one(turned(x)), turned(y)))
    };
    // SAFETY: the caller's promise; there is one operand, and `len` is its length.
    unsafe {
        fold_packs::<T, O, N, LANES, 1, IN_FLIGHT, LONG, ANCHORED>(
            [input.as_ptr()],
            input.len(),
            fold,
            pair,
            end,
        );
    }
}

/// The most elements of an operand: they are counted in 32 bits.
pub const LONGEST: usize = u32::MAX as usize;

/// The most blocks: the next packs of their threads are counted in 32 bits, too.
pub const BLOCKS: u32 = 1 << 17;

/// A number of elements or packs.
pub trait Count:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// Whether the element outside of packs is loaded with the first packs, not after the last
    /// ones. It takes registers, and a latency less.
    const SHORT: bool;
    /// From a number that can be counted.
    fn of(number: usize) -> Self;
    /// As an offset.
    fn offset(self) -> usize;
    /// The same, opaque to LLVM.
    fn opaque(self) -> Self;
}

macro_rules! counts {
    ($($t:ident: $short:literal, $opaque:ident;)*) => {$(
        impl Count for $t {
            const SHORT: bool = $short;

            #[inline(always)]
            fn of(number: usize) -> Self {
                number as Self
            }

            #[inline(always)]
            fn offset(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn opaque(self) -> Self {
                $opaque(self)
            }
        }
    )*};
}
counts! {
    u32: true, opaque_u32;
    usize: false, opaque;
}

/// The packs of a thread: every `stride`th from `first` up to `packs`, and the others that are in
/// flight with it.
#[derive(Clone, Copy)]
struct Mine<N> {
    first: N,
    packs: N,
    stride: N,
}

/// The sum of a thread's packs and of an element outside of packs, next to an anchor for the
/// block's `sample`. `load` starts at a pack.
///
/// # Safety
/// Whole warps call it. A thread has at most [`MOST`] terms in packs.
#[inline(always)]
unsafe fn anchored<
    T: Addend,
    N: Count,
    const LANES: usize,
    const OPERANDS: usize,
    const IN_FLIGHT: usize,
>(
    sample: impl FnOnce() -> [T; OPERANDS],
    load: impl Fn(N) -> [[[T; LANES]; OPERANDS]; IN_FLIGHT],
    mine: Mine<N>,
    (has_one_more, one_more): (bool, impl FnOnce() -> [T; OPERANDS]),
) -> T::Anchored {
    let mut first = mine.first;
    let mut loaded = load(first);
    let (sample, one_more) = (sample(), one_more());
    let most = T::Anchored::magnitude(sample);
    // SAFETY: the caller's promise.
    let most = unsafe { warp_reduce(u32::MAX, most, WarpReductionOp::Max) };
    let mut sum = T::Anchored::above(most);
    loop {
        unrolled::<IN_FLIGHT>(|part| {
            unrolled::<LANES>(|lane| sum = sum.plus(loaded[part].map(|pack| pack[lane])));
        });
        first = first + mine.stride;
        if first >= mine.packs {
            break;
        }
        loaded = load(first);
    }
    if has_one_more {
        sum = sum.plus(one_more);
    }
    sum
}

/// Folds this thread's share of `0..len`, with IN_FLIGHT packs of each operand in flight; `fold`
/// gets one element of each operand, `pair` two.
///
/// # Safety
/// Whole warps call it. Every operand has `len` elements, and N counts them and the packs of all
/// threads' next rounds.
#[inline(always)]
unsafe fn fold_packs<
    T: Addend,
    O: Op,
    N: Count,
    const LANES: usize,
    const OPERANDS: usize,
    const IN_FLIGHT: usize,
    const LONG: usize,
    const ANCHORED: bool,
>(
    operands: [*const T; OPERANDS],
    len: usize,
    fold: impl Fn(O::Value<T>, [T; OPERANDS]) -> O::Value<T>,
    pair: impl Fn(O::Value<T>, [T; OPERANDS], [T; OPERANDS]) -> O::Value<T>,
    end: impl Fn(Share<O::Value<T>>),
) {
    const {
        assert!(
            size_of::<T>() * LANES == BYTES,
            "no pack has that many lanes"
        );
        assert!(IN_FLIGHT <= 8 && LONG <= 8, "their indices fit in 32 bits");
    };
    let count = |number: u32| N::of(number as usize);
    let (zero, lanes) = (count(0), count(LANES as u32));
    let (thread, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let threads = thread::block_dim_x();
    let grid = count(thread::grid_dim_x()) * count(threads);
    let (own, mut begin, mut n) = (count(thread), count(block) * count(threads), N::of(len));
    if OPERANDS > 1 {
        // Opaque, so that all that the first loads need is read before the alignments are compared.
        (begin, n) = (begin.opaque(), n.opaque());
    }
    let address = operands[0].addr();
    let differs =
        |operand: &*const T| !((operand.addr() ^ address) as u32).is_multiple_of(BYTES as u32);
    let differ = OPERANDS > 1 && operands.iter().any(differs);
    let before = N::of(elements_before(operands[0]));
    let head = if before < n { before } else { n };
    let packs = (n - head) / lanes;
    // Elements outside of packs go to the first threads.
    let has_one_more = block == 0 && own < n - packs * lanes;
    let one_more = || {
        let at = own + if own < head { zero } else { packs * lanes };
        // SAFETY: the caller's promise, for an element that is there.
        operands.map(|operand| unsafe {
            let [x] = load_if::<T, 1>(operand.wrapping_add(at.offset()), has_one_more);
            x
        })
    };
    let aligned = operands.map(|operand| operand.wrapping_add(head.offset()));
    let load = |i: N| {
        let last = packs - count(1);
        let (i, inside) = match O::ZERO_IS_NOTHING {
            true => (i, i < packs),
            // An extreme may have the last one twice.
            false => (if i < last { i } else { last }, true),
        };
        // SAFETY: the caller's promise, for a pack below `packs`; it is aligned to 16 bytes.
        aligned.map(|operand| unsafe {
            load_if::<T, LANES>(operand.wrapping_add(i.offset() * LANES), inside)
        })
    };

    // Long operands are read in tiles: a block that adds its elements again would have others.
    let in_tiles = packs > N::of(CACHED);
    let most = grid * count((MOST / LANES) as u32);
    let few = !differ & (threads <= THREADS as u32) & (packs <= most) & !in_tiles;
    if ANCHORED && O::ZERO_IS_NOTHING && T::Anchored::FASTER && few {
        // Of the block's first 32 elements in packs.
        let sample = || {
            let at = begin * lanes + count(thread % WARP);
            // SAFETY: the caller's promise, for an element of a pack.
            aligned.map(|operand| unsafe {
                let inside = at < packs * lanes;
                let [x] = load_if::<T, 1>(operand.wrapping_add(at.offset()), inside);
                x
            })
        };
        let load = |first: N| -> [_; IN_FLIGHT] {
            core::array::from_fn(|part| load(first + count(part as u32) * grid))
        };
        let mine = Mine {
            first: begin + own,
            packs,
            stride: grid * count(IN_FLIGHT as u32),
        };
        // SAFETY: whole warps are here, with few packs, in a small block.
        unsafe {
            let sum = anchored::<T, N, LANES, OPERANDS, IN_FLIGHT>(
                sample,
                load,
                mine,
                (has_one_more, one_more),
            );
            let (all, of_warp) = all_have(sum);
            if all != 0 {
                let parts = fold_parts(of_warp);
                end(Share::Block(O::of_partial::<T>(sum.total(parts), 0)));
                return;
            }
        }
    }

    let start = O::start::<T>();
    let value = if differ {
        // SAFETY: the caller's promise, for every i below `len`.
        let element = |i: usize| operands.map(|operand| unsafe { operand.add(i).read() });
        grid_stride(len, start, element, fold)
    } else {
        // ANCHOR: packs
        let (first, apart) = if in_tiles {
            (count(block) * count(threads * LONG as u32), count(threads))
        } else {
            (begin, grid)
        };
        // ANCHOR_END: packs
        let load = |first: N| -> [_; LONG] {
            core::array::from_fn(|part| load(first + count(part as u32) * apart))
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
        let mut early = None;
        if O::ZERO_IS_NOTHING || packs > zero {
            // ANCHOR: rounds
            let mut first = first + own;
            let mut loaded = load(first);
            early = N::SHORT.then(one_more);
            loop {
                unrolled::<LONG>(|part| add(&mut values, loaded[part]));
                first = first + grid * count(LONG as u32);
                if first >= packs {
                    break;
                }
                loaded = load(first);
            }
            // ANCHOR_END: rounds
        }

        let mut value = values[0];
        unrolled::<LANES>(|lane| {
            if lane > 0 && lane < kept {
                value = O::merge::<T>(value, values[lane]);
            }
        });
        if has_one_more {
            // Opaque, so that this is a branch: else every thread converts what it has not.
            let one_more = early.unwrap_or_else(one_more);
            let one_more = one_more.map(|x| T::of_bits(opaque(x.bits() as usize) as u64));
            value = fold(value, one_more);
        }
        value
    };
    end(Share::Thread(value));
}
