//! `#[gpu_only]`: functions that would panic on the host.

#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

use cuda_std::{gpu_only, prelude::*};

/// The lanes below the calling one, which only assembly can ask for.
#[gpu_only]
#[inline(always)]
fn lanes_below() -> u32 {
    let mask;
    unsafe {
        core::arch::asm!("mov.u32 {}, %lanemask_lt;", out(reg32) mask, options(pure, nomem, nostack))
    }
    mask
}

/// `out[i]` is how many odd values stand before value `i` in its warp.
#[kernel]
pub unsafe fn odd_before(values: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let odd = warp::warp_vote_ballot(u32::MAX, values[i] % 2 == 1);
    *out.add(i) = (odd & lanes_below()).count_ones();
}
