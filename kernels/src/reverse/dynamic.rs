//! Reversal with the dynamic shared array: its size comes with the launch.

use cuda_std::prelude::*;

use super::through_tile;

macro_rules! kernels {
    ($($name:ident: $t:ident;)*) => {$(
        /// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
        ///
        /// # Launch
        /// One-dimensional, any block; dynamic shared memory of `block · size_of` bytes. The grid strides over the tiles.
        ///
        /// # Safety
        /// The crate's rules; `output` has n elements; the shared memory has that size.
        #[kernel]
        pub unsafe fn $name(input: &[$t], output: *mut $t) {
            // SAFETY: the caller's promise.
            unsafe { through_tile(input, output, shared::dynamic_shared_mem::<$t>()) }
        }
    )*};
}
kernels! {
    reverse_dynamic_u32: u32;
    reverse_dynamic_u64: u64;
}
