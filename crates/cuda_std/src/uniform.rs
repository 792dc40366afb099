//! What the kernel's author knows to be the same in all threads, for `cuda_builder`'s check of
//! barriers.
//!
//! The check finds by itself that constants, parameters, sizes and positions of blocks, and what is
//! computed from them are uniform, and votes, too. These functions are for the rest. They cost
//! nothing: the builder removes the calls.

#[cfg(target_arch = "nvptx64")]
mod marker {
    unsafe extern "C" {
        safe fn __cuda_std_block_uniform(value: i32) -> i32;
        safe fn __cuda_std_warp_uniform(value: i32) -> i32;
    }

    #[inline(always)]
    pub(super) fn block(value: u32) -> u32 {
        __cuda_std_block_uniform(value.cast_signed()).cast_unsigned()
    }

    #[inline(always)]
    pub(super) fn warp(value: u32) -> u32 {
        __cuda_std_warp_uniform(value.cast_signed()).cast_unsigned()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod marker {
    pub(super) fn block(value: u32) -> u32 {
        value
    }

    pub(super) fn warp(value: u32) -> u32 {
        value
    }
}

/// `value`, of which the check of barriers knows from here on that it is the same in all threads of
/// the block.
///
/// # Safety
/// It is, in every execution of this call that the threads of a block make together. A branch on a
/// value that differs leads some threads past a barrier, which is undefined.
#[inline(always)]
pub unsafe fn assume_block_uniform(value: u32) -> u32 {
    marker::block(value)
}

/// `value`, of which the check knows from here on that it is the same in all lanes of the warp.
///
/// # Safety
/// As for [`assume_block_uniform`], for the lanes of a warp and operations of a warp.
#[inline(always)]
pub unsafe fn assume_warp_uniform(value: u32) -> u32 {
    marker::warp(value)
}
