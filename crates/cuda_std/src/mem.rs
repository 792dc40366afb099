//! The device's heap, and the sizes of a block's shared memory.
//!
//! On the device, `GLOBAL_ALLOCATOR` makes `alloc`'s types work in kernels. The heap has 8 MB
//! unless the host sets CUDA's limit `CU_LIMIT_MALLOC_HEAP_SIZE`; it is slow, and leaked memory
//! stays until the context ends.

use core::alloc::{GlobalAlloc, Layout};
#[cfg(target_arch = "nvptx64")]
use core::ffi::c_void;

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Allocates `size` bytes on the device's heap, aligned to 16; null if the heap is exhausted.
    /// Supplied by the driver.
    pub fn malloc(size: usize) -> *mut c_void;
    /// Frees memory from [`malloc`]. Supplied by the driver.
    pub fn free(ptr: *mut c_void);
}

/// The device's heap as an allocator for `alloc`. Works in kernels only.
pub struct CUDAAllocator;

/// Alignment of [`malloc`].
const ALIGNMENT: usize = 16;

// SAFETY: `malloc` returns memory of the requested size that is not reused until `free`, or null;
// the alignment is handled below.
unsafe impl GlobalAlloc for CUDAAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return allocate(layout.size());
        }
        // Room for aligning the address, and for the pointer to free in front of it.
        let start = allocate(layout.size() + layout.align() + size_of::<*mut u8>());
        if start.is_null() {
            return start;
        }
        let offset = size_of::<*mut u8>()
            + start
                .wrapping_add(size_of::<*mut u8>())
                .align_offset(layout.align());
        // SAFETY: the room was requested above.
        unsafe {
            let aligned = start.add(offset);
            aligned.cast::<*mut u8>().sub(1).write_unaligned(start);
            aligned
        }
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if layout.align() <= ALIGNMENT {
            release(ptr)
        } else {
            // SAFETY: `alloc` wrote the pointer there.
            release(unsafe { ptr.cast::<*mut u8>().sub(1).read_unaligned() })
        }
    }
}

#[gpu_only]
#[inline(always)]
fn allocate(size: usize) -> *mut u8 {
    // The end of an allocation is never the start of another one: cuda_builder's uniformity check
    // takes two addresses for equal in all threads or in none.
    // SAFETY: any size is allowed; a layout's is at most `isize::MAX`.
    unsafe { malloc(size + 1).cast() }
}

#[gpu_only]
#[inline(always)]
fn release(ptr: *mut u8) {
    // SAFETY: called by `dealloc` with what `allocate` returned.
    unsafe { free(ptr.cast()) }
}

/// The allocator of `alloc` in kernels.
#[cfg(target_arch = "nvptx64")]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

/// Bytes of dynamic shared memory per block, as set by the launch.
#[gpu_only]
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    let bytes;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack))
    }
    bytes
}

/// Bytes of shared memory per block, static and dynamic, rounded up to the GPU's granularity.
#[gpu_only]
#[inline(always)]
pub fn total_smem_size() -> u32 {
    let bytes;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov.u32 {}, %total_smem_size;", out(reg32) bytes, options(pure, nomem, nostack))
    }
    bytes
}
