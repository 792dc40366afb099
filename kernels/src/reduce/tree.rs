//! Reductions with a halving tree in shared memory.
//!
//! partials\[block\] = op over the values of the block's threads, each of which first folds its
//! share of the input: see [the family](super). One coalesced global read per element (two for the
//! dot product).
//!
//! - Slot t of the dynamic shared array gets the value of thread t.
//! - While n > 1 values remain, with h = ⌈n / 2⌉: thread t < n − h folds slot t + h into slot t,
//!   and h values remain. Rounding up makes it correct for every thread count: an odd value in the
//!   middle is unchanged. (A tree that rounds down drops elements unless the count is a power of
//!   two.)
//! - Slot 0 ends up with the block's result, and thread 0 writes it.
//! - One barrier at the start of each of the ⌈log₂ threads⌉ rounds. It orders the previous round's
//!   writes before this round's reads.
//! - Adjacent threads access adjacent slots: no bank conflicts.
//! - It adds in the element's type, like the document it follows: the bits of a rounded sum depend
//!   on the launch. The kernels that the launcher chooses by itself
//!   [add in more](super::addend).
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel, as an `unsafe` one | 6.4 | 4.47 | 4.45 | 4.49 | 4.57 |
//! | [`interleaved`](super::interleaved) | 6.5 | 4.47 | 4.45 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 6.1 | 4.48 | 4.45 | 4.46 | 4.57 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::{Addend, Extreme, Op, Sum, dot_share, share};
use crate::number::Scalar;

/// As [`dot_interleaved`](super::interleaved::dot_interleaved).
#[kernel(
    instances(i64, f32),
    shared(slots = block.threads()),
    require(a.len() == b.len())
)]
pub fn dot_tree<T: Addend>(
    block: &mut Block,
    slots: Shared<[T]>,
    a: &[T],
    b: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
) {
    let share = dot_share(block, a, b);
    let value = tree::<T, Sum>(block, slots, share);
    partials.store(block, value.partial());
}

/// As [`fold_interleaved`](super::interleaved::fold_interleaved).
#[kernel(
    instances((f32, Sum | Extreme)),
    name = "{O}_tree_{T}",
    shared(slots = block.threads())
)]
pub fn fold_tree<T: Addend, O: Op>(
    block: &mut Block,
    slots: Shared<[T]>,
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    flip: u64,
) {
    let share = share::<T, O>(block, input, flip);
    let value = tree::<T, O>(block, slots, share);
    partials.store(block, O::turned(value, flip).partial());
}

/// Combines the values of all threads of the block; thread 0 gets the result.
#[inline(always)]
// ANCHOR: tree
fn tree<T: Scalar, O: Op>(block: &mut Block, slots: Shared<[T]>, value: T) -> T {
    // There is one slot per thread.
    let Some(mut slots) = slots.slots(block, value) else {
        return value;
    };
    while slots.len() > 1 {
        slots.fold_halves(block, O::apply);
    }
    slots.mine().unwrap_or(value)
}
// ANCHOR_END: tree
