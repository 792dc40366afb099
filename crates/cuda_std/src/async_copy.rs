//! Asynchronous copies from global to shared memory (PTX `cp.async`, sm_80 or newer).
//!
//! Issue copies, then commit them as a group with [`cp_async_commit_group`];
//! [`cp_async_wait_group`] waits until at most N groups of this thread are in flight. Other threads
//! see the copies after a subsequent [`sync_threads`](crate::thread::sync_threads).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
macro_rules! copy {
    ($cache:literal, $bytes:literal, $dst:ident, $src:ident) => {
        // SAFETY: the pointers are the caller's promise.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .u64 shared;",
                ".reg .u64 global;",
                "cvta.to.shared.u64 shared, {dst};",
                "cvta.to.global.u64 global, {src};",
                concat!("cp.async.", $cache, ".shared.global [shared], [global], ", $bytes, ";"),
                "}}",
                dst = in(reg64) $dst,
                src = in(reg64) $src,
                options(nostack),
            )
        }
    };
}

/// Starts to copy one `T` of 4, 8 or 16 bytes through both caches. Another size does not compile.
///
/// # Safety
/// `dst` points into shared and `src` into global memory, both aligned to the size; both stay
/// valid, and `src` unchanged, until the copy has been waited for.
#[gpu_only]
#[inline(always)]
pub unsafe fn cp_async_ca<T>(dst: *mut T, src: *const T) {
    const {
        assert!(
            matches!(size_of::<T>(), 4 | 8 | 16),
            "cp.async copies 4, 8 or 16 bytes"
        )
    };
    match size_of::<T>() {
        4 => copy!("ca", 4, dst, src),
        8 => copy!("ca", 8, dst, src),
        _ => copy!("ca", 16, dst, src),
    }
}

/// The shared-memory address of `pointer`, for [`cp_async_ca_to`]: constant offsets become part of
/// the copy instruction, while a generic pointer is converted for each copy.
#[gpu_only]
#[inline(always)]
pub fn shared_address<T>(pointer: *const T) -> u32 {
    let address: u64;
    // SAFETY: computes with the address only.
    unsafe {
        core::arch::asm!(
            "cvta.to.shared.u64 {address}, {pointer};",
            address = out(reg64) address,
            pointer = in(reg64) pointer,
            options(pure, nomem, nostack),
        )
    }
    // Shared memory is smaller than 4 GiB.
    address as u32
}

/// Like [`cp_async_ca`], to a shared-memory address.
///
/// # Safety
/// As for [`cp_async_ca`].
#[gpu_only]
#[inline(always)]
pub unsafe fn cp_async_ca_to<T>(dst: u32, src: *const T) {
    const {
        assert!(
            matches!(size_of::<T>(), 4 | 8 | 16),
            "cp.async copies 4, 8 or 16 bytes"
        )
    };
    macro_rules! copy {
        ($bytes:literal) => {
            // SAFETY: the addresses are the caller's promise.
            unsafe {
                core::arch::asm!(
                    "{{",
                    ".reg .u64 global;",
                    "cvta.to.global.u64 global, {src};",
                    concat!("cp.async.ca.shared.global [{dst}], [global], ", $bytes, ";"),
                    "}}",
                    dst = in(reg32) dst,
                    src = in(reg64) src,
                    options(nostack),
                )
            }
        };
    }
    match size_of::<T>() {
        4 => copy!(4),
        8 => copy!(8),
        _ => copy!(16),
    }
}

/// Starts to copy one `T` of 16 bytes, bypassing L1. Another size does not compile.
///
/// # Safety
/// As for [`cp_async_ca`].
#[gpu_only]
#[inline(always)]
pub unsafe fn cp_async_cg<T>(dst: *mut T, src: *const T) {
    const { assert!(size_of::<T>() == 16, "cp.async.cg copies 16 bytes") };
    copy!("cg", 16, dst, src)
}

/// Commits the copies that this thread has started since the last call as a group.
#[gpu_only]
#[inline(always)]
pub fn cp_async_commit_group() {
    // SAFETY: accesses no memory itself.
    unsafe { core::arch::asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until at most the newest `N` groups of this thread are unfinished.
#[gpu_only]
#[inline(always)]
pub fn cp_async_wait_group<const N: u32>() {
    // SAFETY: the copies' pointers were promised when they started.
    unsafe { core::arch::asm!("cp.async.wait_group {};", const N, options(nostack)) }
}

/// Waits for all copies of this thread, committed or not.
#[gpu_only]
#[inline(always)]
pub fn cp_async_wait_all() {
    // SAFETY: as in `cp_async_wait_group`.
    unsafe { core::arch::asm!("cp.async.wait_all;", options(nostack)) }
}
