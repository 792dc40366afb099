//! Assertions that a value is uniform, for `cuda_builder`'s uniformity check.
//!
//! The check itself recognises constants, parameters, sizes and positions of blocks, votes, and
//! values computed from them. These functions are for everything else. They cost nothing: the
//! builder removes the calls.

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

/// `value`, which the uniformity check then treats as equal in all threads of the block.
///
/// # Safety
/// It is equal in every execution of this call that the threads of a block make together. Otherwise
/// a branch on it may lead some threads past a barrier, which is undefined.
#[inline(always)]
pub unsafe fn assume_block_uniform(value: u32) -> u32 {
    marker::block(value)
}

/// `value`, which the check then treats as equal in all lanes of the warp.
///
/// # Safety
/// As for [`assume_block_uniform`], for the lanes of a warp and warp operations.
#[inline(always)]
pub unsafe fn assume_warp_uniform(value: u32) -> u32 {
    marker::warp(value)
}
