//! Numbers of which LLVM knows nothing.

/// `number`, of which LLVM knows nothing more: neither what it is a multiple of nor what it is
/// below. It costs no instruction.
///
/// For where addresses begin. LLVM makes an `or` of a sum whose terms have no bit in common, such as
/// a tile's first row and a thread's row in it, and then no longer sees that the addresses of a
/// thread's elements differ by constants. Each is computed by itself: twice the instructions in the
/// inner loop of a convolution, 30 registers more in a matrix product.
#[inline(always)]
pub(crate) fn opaque(number: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    {
        let same: usize;
        // SAFETY: a move between registers.
        unsafe {
            core::arch::asm!(
                "mov.b64 {}, {};",
                out(reg64) same,
                in(reg64) number,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        same
    }
    #[cfg(not(target_arch = "nvptx64"))]
    number
}
