//! Values that LLVM must treat as new at each use: code that computes with them is neither hoisted
//! out of a loop or a rare branch nor kept in registers where it is not needed.

use cuda_std::gpu_only;

/// The thread's index along x.
#[gpu_only]
#[inline(always)]
pub(crate) fn thread_here() -> u32 {
    let index: u32;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov.u32 {index}, %tid.x;", index = out(reg32) index, options(nomem, nostack));
    }
    index
}

/// Zero.
#[gpu_only]
#[inline(always)]
pub(crate) fn zero_here() -> usize {
    let zero: u32;
    // SAFETY: it writes a register, with the same number in all threads.
    let zero = unsafe {
        core::arch::asm!("mov.u32 {zero}, 0;", zero = out(reg32) zero, options(nomem, nostack));
        cuda_std::uniform::assume_block_uniform(zero)
    };
    zero as usize
}
