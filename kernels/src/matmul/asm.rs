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

/// Starts to copy one element to shared memory; zero unless `inside`, and then `source` is not read.
///
/// # Safety
/// `slot` is a word of shared memory and `source` an element of global memory, and they stay so until the copy was waited for.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy(slot: u32, source: *const f32, inside: bool) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .u64 global;",
            "cvta.to.global.u64 global, {source};",
            "cp.async.ca.shared.global [{slot}], [global], 4, {valid};",
            "}}",
            slot = in(reg32) slot,
            source = in(reg64) source,
            valid = in(reg32) if inside { 4 } else { 0 },
            options(nostack),
        )
    }
}
