//! The reductions `single` with twice as many loads in flight: eight packs of 16 bytes a thread.
//!
//! On an H200 it is no faster.

use cuda_std::prelude::*;

use crate::kernels::pack::lanes;
use crate::kernels::reduce::single::fold_grid;
use crate::kernels::reduce::wide::{dot_share, share};
use crate::kernels::reduce::{Addend, Extreme, Op, Sum};

/// Packs of each operand that a thread has in flight.
pub const IN_FLIGHT: usize = 8;

/// Like [`dot_single`](crate::kernels::reduce::single::dot_single), with eight packs in flight.
#[kernel(
    instances(i64, f32, f64),
    require(
        a.len() == b.len(),
        ticket.len() == 1,
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn dot_single8<T: Addend>(
    a: &[T],
    b: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    mut ticket: Atomics<u32>,
) {
    // SAFETY: `require` states equal lengths, whole warps along x and one ticket; the launch
    // provides one partial result per block.
    unsafe {
        let (partials, ticket) = (partials.as_mut_ptr(), ticket.as_mut_ptr());
        let end = |share| fold_grid::<T, Sum>(share, partials, ticket, 0);
        dot_share::<T, usize, { lanes::<T>() }, IN_FLIGHT, IN_FLIGHT, false>(a, b, end);
    }
}

/// Like [`fold_single`](crate::kernels::reduce::single::fold_single), with eight packs in flight.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_single8_{T}",
    require(
        ticket.len() == 1,
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn fold_single8<T: Addend, O: Op>(
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    mut ticket: Atomics<u32>,
    flip: u64,
) {
    // SAFETY: `require` states whole warps along x and one ticket; the launch provides one partial
    // result per block.
    unsafe {
        let (partials, ticket) = (partials.as_mut_ptr(), ticket.as_mut_ptr());
        let end = |share| fold_grid::<T, O>(share, partials, ticket, flip);
        share::<T, O, usize, { lanes::<T>() }, IN_FLIGHT, IN_FLIGHT, false>(input, flip, end);
    }
}
