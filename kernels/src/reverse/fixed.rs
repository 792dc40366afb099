//! Reversal with a static shared array: its size is in the kernel.

use cuda_std::prelude::*;

use super::{THREADS, through_tile};

macro_rules! kernels {
    ($($name:ident: $t:ident;)*) => {$(
        /// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
        ///
        /// # Launch
        /// One-dimensional, blocks of exactly [`THREADS`](super::THREADS) threads. The grid strides over the tiles.
        ///
        /// # Safety
        /// The crate's rules; `output` has n elements; the block is as stated.
        #[kernel]
        pub unsafe fn $name(input: &[$t], output: *mut $t) {
            // SAFETY: the array has a slot for each thread; the rest is the caller's promise.
            unsafe { through_tile(input, output, shared_array![$t; THREADS as usize]) }
        }
    )*};
}
kernels! {
    reverse_static_u32: u32;
    reverse_static_u64: u64;
}
