//! Fused multiply-adds at the peak rate, without memory accesses: no algorithm, but the ceiling that
//! the others are compared with.
//!
//! output\[thread\] = Σ over the chains c of x_c after `rounds` · [`UNROLL`] steps x ← x ·
//! [`FACTOR`] + [`ADDEND`], from x_c = thread mod 256 + c.
//!
//! - Each thread has [`CHAINS`] independent chains: while one waits for its previous step, the
//!   others fill the pipeline. A latency of four cycles on four schedulers needs that many chains
//!   or warps; this kernel has both.
//! - With a factor below 1 the values stay near ADDEND / (1 − FACTOR): no overflow, no subnormal
//!   numbers, and the host can reproduce every bit.
//! - Each thread writes one element, so that nothing can be optimised away. No shared memory, no
//!   barrier.

#![forbid(unsafe_code)]

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Chains per thread.
pub const CHAINS: usize = 8;

/// Steps per chain in a round.
pub const UNROLL: usize = 16;

/// The factor of each step.
pub const FACTOR: f32 = 0.999_511_7;

/// The addend of each step.
pub const ADDEND: f32 = 1.0;

/// Threads per block.
pub const THREADS: u32 = 256;

/// Runs 2 · threads · [`CHAINS`] · [`UNROLL`] · `rounds` operations.
///
/// # Parameters
/// - `output`: one element per thread of the grid.
///
/// # Launch
/// One-dimensional, any block and grid: the grid determines the amount of work.
#[kernel(require(
    Some(output.len()) == (grid.x as usize).checked_mul(block.x as usize),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub fn peak_fma_f32(mut output: Out<f32>, rounds: usize) {
    let Some((thread, output)) = output.mine().next() else {
        return;
    };
    let mut chains = [0.0_f32; CHAINS];
    for (c, x) in chains.iter_mut().enumerate() {
        *x = (thread % 256 + c) as f32;
    }
    let mut round = 0;
    while round < rounds {
        for _ in 0..UNROLL {
            for x in &mut chains {
                *x = GpuFloat::mul_add(*x, FACTOR, ADDEND);
            }
        }
        round += 1;
    }
    let mut sum = 0.0;
    for x in chains {
        sum += x;
    }
    *output = sum;
}
