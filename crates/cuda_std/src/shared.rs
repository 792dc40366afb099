//! Memory that the threads of a block share: fast, small, gone when the block ends.
//!
//! A static array has its size in the kernel ([`shared_array!`](crate::shared_array) or a static with
//! `#[address_space(shared)]`); the dynamic array gets its size with each launch ([`dynamic_shared_mem`]). Neither is
//! initialised. Between a write by one thread and a read by another stands a
//! [`sync_threads`](crate::thread::sync_threads).
//!
//! Safe kernels have [`Shared`](crate::block::Shared) instead, whose states see to both.

/// A new array of `N` elements of `T` in shared memory, as `*mut T` to the first: `shared_array![f32; 256]`.
///
/// All threads of a block get the same address; two expansions are two arrays. The contents are uninitialised.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        // `unsafe` to read and to write, as the memory is for all threads of the block.
        #[$crate::address_space(shared)]
        static mut SHARED: ::core::mem::MaybeUninit<[$element; $len]> =
            ::core::mem::MaybeUninit::uninit();

        (&raw mut SHARED).cast::<$element>()
    }};
}

/// The block's dynamic shared memory, whose size in bytes the launch gives. The contents are uninitialised.
///
/// There is one such array in a block: each call, whatever its `T`, returns the same address. It is aligned to 16 bytes;
/// a `T` of more does not compile.
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
        // cuda_builder knows this name and moves the array to the shared address space.
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
