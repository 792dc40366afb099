//! Reductions with a tree that folds neighbours first: the baseline.
//!
//! partials\[block\] = op over the values of the block's threads, each of which first folds its
//! share of the input: see [the family](super).
//!
//! - Slot t of the dynamic shared array gets the value of thread t.
//! - Round `distance` = 1, 2, 4, …: thread t folds slot 2·t·distance + distance into slot
//!   2·t·distance, if both exist. Any number of threads is correct: a slot without a partner is
//!   unchanged.
//! - Slot 0 ends up with the block's result, and thread 0 writes it.
//! - One barrier at the start of each of the ⌈log₂ threads⌉ rounds: it orders the previous round's
//!   writes before this round's reads.
//! - It adds in the element's type, like the document it follows: the bits of a rounded sum depend
//!   on the launch. The kernels that the launcher chooses by itself
//!   [add in more](super::addend).
//! - The weakness that [`tree`](super::tree) removes: the lanes of a warp access slots 2·distance
//!   apart. With 4-byte slots that is a 2-way conflict in the first round, then 4-way, and so on up
//!   to 16-way in the fourth, where 16 lanes of the first warp are active.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel, as an `unsafe` one | 6.5 | 4.47 | 4.45 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 6.4 | 4.47 | 4.46 | 4.45 | 4.57 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |
//! These figures are medians of one run of `blockwise bench`, with cold caches; a copy moved 4.25
//! TB/s. The safe form takes 0.97 to 1.02 of the time (docs/log/2026-11-22-safe-kernels.md). Large
//! operands make every kernel memory-bound; how a block combines its values matters for small ones.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::{Addend, Extreme, Op, Sum, dot_share, share};
use crate::number::Scalar;

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block.
///
/// # Launch
/// One-dimensional blocks of any size, any grid.
#[kernel(
    instances(i64, f32),
    shared(slots = block.threads()),
    require(a.len() == b.len())
)]
pub fn dot_interleaved<T: Addend>(
    block: &mut Block,
    slots: Shared<[T]>,
    a: &[T],
    b: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
) {
    let share = dot_share(block, a, b);
    let value = interleaved::<T, Sum>(block, slots, share);
    partials.store(block, value.partial());
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the minimum or the
/// maximum. Minimum and maximum propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block.
///
/// # Launch
/// One-dimensional blocks of any size, any grid.
#[kernel(
    instances((f32, Sum | Extreme)),
    name = "{O}_interleaved_{T}",
    shared(slots = block.threads())
)]
pub fn fold_interleaved<T: Addend, O: Op>(
    block: &mut Block,
    slots: Shared<[T]>,
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    flip: u64,
) {
    let share = share::<T, O>(block, input, flip);
    let value = interleaved::<T, O>(block, slots, share);
    partials.store(block, O::turned(value, flip).partial());
}

/// Combines the values of all threads of the block; thread 0 gets the result.
#[inline(always)]
fn interleaved<T: Scalar, O: Op>(block: &mut Block, slots: Shared<[T]>, value: T) -> T {
    // There is one slot per thread.
    let Some(mut slots) = slots.slots(block, value) else {
        return value;
    };
    while slots.len() > 1 {
        slots.fold_interleaved(block, O::apply);
    }
    slots.mine().unwrap_or(value)
}
