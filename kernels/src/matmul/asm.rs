//! Instructions of the tuned kernels that the compiler does not choose by itself, on addresses within shared memory.
//!
//! None of the accesses is marked pure, so that they stay in order with the barriers.

use cuda_std::gpu_only;

/// The address of the block's dynamic shared memory, within shared memory.
#[gpu_only]
#[inline(always)]
pub(super) fn dynamic_shared() -> u32 {
    cuda_std::async_copy::shared_address(cuda_std::shared::dynamic_shared_mem::<f32>())
}

/// Four elements of shared memory.
///
/// # Safety
/// `address` is that of four written words, aligned to 16 bytes.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn load_four(address: u32) -> [f32; 4] {
    let (x, y, z, w): (f32, f32, f32, f32);
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "ld.shared.v4.f32 {{{x}, {y}, {z}, {w}}}, [{address}];",
            address = in(reg32) address,
            x = out(reg32) x,
            y = out(reg32) y,
            z = out(reg32) z,
            w = out(reg32) w,
            options(nostack, readonly),
        )
    }
    [x, y, z, w]
}

/// Starts to copy one element, or [`VECTOR`](super::policy::VECTOR) of them, to shared memory; zeros unless `inside`, and then `source` is not read.
///
/// # Safety
/// `slot` is as many words of shared memory and `source` as many elements of global memory, both aligned to their size, and they stay so until
/// the copy was waited for.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy(elements: usize, slot: u32, source: *const f32, inside: bool) {
    macro_rules! copy {
        ($cache:literal, $bytes:literal) => {
            // SAFETY: passed on to the caller.
            unsafe {
                core::arch::asm!(
                    "{{",
                    ".reg .u64 global;",
                    "cvta.to.global.u64 global, {source};",
                    concat!("cp.async.", $cache, ".shared.global [{slot}], [global], ", $bytes, ", {valid};"),
                    "}}",
                    slot = in(reg32) slot,
                    source = in(reg64) source,
                    valid = in(reg32) if inside { $bytes } else { 0 },
                    options(nostack),
                )
            }
        };
    }
    match elements {
        super::policy::VECTOR => copy!("cg", 16),
        _ => copy!("ca", 4),
    }
}

/// The same element in a register that `ptxas` cannot take for the one that it came from.
///
/// A store of 16 bytes wants its four registers side by side, and `ptxas` then gives such registers to the sums from the start: of the 1024 FMAs of a
/// round of [`Tiles::Wide`](super::policy::Tiles::Wide), 565 would find operands in the same bank of registers where
/// 150 do with this (counted in the machine code of ptxas 13.0; `pipelined` says what that costs).
#[gpu_only]
#[inline(always)]
pub(super) fn moved(element: f32) -> f32 {
    let zero: u32;
    // SAFETY: reads a register that is 0 in blocks of one dimension.
    unsafe {
        core::arch::asm!("mov.u32 {zero}, %tid.z;", zero = out(reg32) zero, options(pure, nomem, nostack));
    }
    f32::from_bits(element.to_bits() ^ zero)
}
