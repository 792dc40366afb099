//! Shared memory: fast, small, shared by the threads of a block, and freed when the block ends.
//!
//! A static array has its size in the kernel ([`shared_array!`](crate::shared_array) or a static
//! with `#[address_space(shared)]`); the dynamic array gets its size from each launch
//! ([`dynamic_shared_mem`]). Neither is initialised. A write by one thread and a read by another
//! need a [`sync_threads`](crate::thread::sync_threads) between them.
//!
//! Safe kernels use [`Shared`](crate::block::Shared) instead, whose states ensure both.

/// A new array of `N` elements of `T` in shared memory, as `*mut T` to the first:
/// `shared_array![f32; 256]`.
///
/// All threads of a block get the same address; each expansion is a different array. The contents
/// are uninitialised.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        // `unsafe` to read and write, because all threads of the block share the memory.
        #[$crate::address_space(shared)]
        static mut SHARED: $crate::__private::core::mem::MaybeUninit<[$element; $len]> =
            $crate::__private::core::mem::MaybeUninit::uninit();

        (&raw mut SHARED).cast::<$element>()
    }};
}

/// The block's dynamic shared memory, whose size in bytes the launch sets. The contents are
/// uninitialised.
///
/// A block has one such array: each call, for any `T`, returns the same address. It is aligned to
/// 16 bytes; a `T` with a larger alignment does not compile.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const {
        assert!(
            align_of::<T>() <= 16,
            "dynamic shared memory is aligned to 16 bytes only"
        )
    };
    dynamic::base().cast()
}

#[cfg(target_arch = "nvptx64")]
mod dynamic {
    unsafe extern "C" {
        // cuda_builder recognises this name and moves the array to the shared address space.
        static mut cuda_std_dynamic_shared: [u8; 0];
    }

    #[inline(always)]
    pub(super) fn base() -> *mut u8 {
        (&raw mut cuda_std_dynamic_shared).cast()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod dynamic {
    pub(super) fn base() -> *mut u8 {
        crate::nvvm::only_on_device("dynamic_shared_mem")
    }
}
