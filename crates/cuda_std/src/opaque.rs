//! Values that are opaque to LLVM.

/// `number`, opaque to LLVM: it knows neither divisors nor bounds of the result. Costs no
/// instruction.
///
/// For the start of addresses. LLVM turns a sum whose terms share no bits, such as a tile's first
/// row and a thread's row in it, into an `or`, and then no longer sees that the addresses of a
/// thread's elements differ by constants. Each address is then computed separately: twice the
/// instructions in the inner loop of a convolution, 30 more registers in a matrix product.
#[inline(always)]
pub fn opaque(number: usize) -> usize {
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
