//! Reductions with warp shuffles.
//!
//! Change from [`tree`](crate::kernels::reduce::tree): a warp combines its 32 values in registers with five
//! shuffles, without barriers or shared memory. Only one value per warp goes through shared memory,
//! and thread 0 folds those in warp order. All of it is [`Scratch::reduce_to_first`]:
//!
//! - Round `delta` = 1, 2, 4, 8, 16: lane l folds in the value of lane l + delta, if the warp has
//!   it. Lane 0 ends up with the fold of all; the other lanes' values are unused.
//! - Slot w of a static shared array gets the value of warp w, from its lane 0. There are twice 32
//!   slots, because a block has at most 32 warps and a second reduction uses the other half, so
//!   that it needs no barrier first.
//! - One barrier for any block size instead of ⌈log₂ threads⌉: it orders every warp's write before
//!   thread 0's reads.
//! - Sums are kept in [more than the element's precision](crate::kernels::reduce::addend): the shuffles move two or
//!   four words a round.
//! - The other warps exit after the barrier: eight warps folding the same eight values would cost a
//!   tenth of the time at 2²⁰ elements.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel, as an `unsafe` one | 5.8 | 4.47 | 4.46 | 4.49 | 4.57 |
//! | [`tree`](crate::kernels::reduce::tree) | 6.4 | 4.47 | 4.45 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 6.1 | 4.47 | 4.46 | 4.47 | 4.57 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use crate::kernels::reduce::{Addend, Extreme, Op, Sum};

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block.
///
/// # Launch
/// One-dimensional blocks of a multiple of 32 threads; any grid.
#[kernel(
    instances(i64, f32, f64),
    require(a.len() == b.len(), block.threads() % 32 == 0)
)]
pub fn dot_shuffle<T: Addend>(
    block: &mut Block,
    mut scratch: Scratch<<T as Addend>::Partial>,
    a: &[T],
    b: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
) {
    let share = block.fold_strided((a, b), Sum::start::<T>(), |sum, (a, b): (T, T)| {
        a.mul_add_to(b, sum)
    });
    let value = scratch.reduce_to_first(block, share, Sum::merge::<T>);
    partials.store_first(block, value);
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the minimum or the
/// maximum. Minimum and maximum propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block.
///
/// # Launch
/// One-dimensional blocks of a multiple of 32 threads; any grid.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_shuffle_{T}",
    require(block.threads() % 32 == 0)
)]
pub fn fold_shuffle<T: Addend, O: Op>(
    block: &mut Block,
    mut scratch: Scratch<<O as Op>::Value<T>>,
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    flip: u64,
) {
    let share = block.fold_strided(input, O::start::<T>(), |value, element| {
        O::fold(value, O::turned(element, flip))
    });
    let value = scratch.reduce_to_first(block, share, O::merge::<T>);
    partials.store_first(block, value.map(|value| O::partial::<T>(value, flip)));
}
