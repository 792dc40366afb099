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
    opaque_word!(number, usize, reg64, "mov.b64 {}, {};")
}

/// As [`opaque`], for a number of 32 bits.
#[inline(always)]
pub fn opaque_u32(number: u32) -> u32 {
    opaque_word!(number, u32, reg32, "mov.b32 {}, {};")
}

/// The low and the high half of a number: one instruction, where shifts are two.
#[inline(always)]
pub fn halves(number: u64) -> (u32, u32) {
    #[cfg(target_arch = "nvptx64")]
    {
        let (low, high): (u32, u32);
        // SAFETY: moves between registers.
        unsafe {
            core::arch::asm!(
                "mov.b64 {{{}, {}}}, {};",
                out(reg32) low,
                out(reg32) high,
                in(reg64) number,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        (low, high)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    (number as u32, (number >> 32) as u32)
}

/// The number with these [`halves`]: one instruction, where shifts are four.
#[inline(always)]
pub fn whole(low: u32, high: u32) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let number: u64;
        // SAFETY: moves between registers.
        unsafe {
            core::arch::asm!(
                "mov.b64 {}, {{{}, {}}};",
                out(reg64) number,
                in(reg32) low,
                in(reg32) high,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        number
    }
    #[cfg(not(target_arch = "nvptx64"))]
    (u64::from(low) | u64::from(high) << 32)
}

macro_rules! opaque_word {
    ($number:ident, $t:ty, $class:ident, $moved:literal) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let same: $t;
            // SAFETY: a move between registers.
            unsafe {
                core::arch::asm!(
                    $moved,
                    out($class) same,
                    in($class) $number,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            same
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $number
    }};
}
use opaque_word;
