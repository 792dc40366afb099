//! Where the thread is, as if it were asked anew.

use cuda_std::gpu_only;

/// The thread's index along x, which LLVM takes for a new value each time: what is computed from it
/// is not moved out of a loop or a rare way, and holds no registers where it is not needed.
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
