//! Device-side Rust for CUDA kernels, on the stock compiler.
//!
//! Names and signatures are those of rust-cuda's crate `cuda_std`, so that a kernel crate moves
//! over by changing one dependency line. The code is independent: instead of rust-cuda's own rustc
//! backend, this crate relies on rustc's `nvptx64-nvidia-cuda` target and on the lowering in
//! [`cuda_builder`](https://crates.io/crates/cuda_builder), which places `#[address_space(shared)]`
//! statics in shared memory and marks every call as convergent.
//!
//! ```
//! use core::ops::{Add, Mul};
//! use cuda_std::prelude::*;
//!
//! /// y = a x + y
//! #[kernel(instances(f32, f64), require(x.len() == y.len()))]
//! pub fn saxpy<T: Plain + Add<Output = T> + Mul<Output = T>>(a: T, x: &[T], mut y: Out<T>) {
//!     for (i, y) in y.mine() {
//!         *y = a * x[i] + *y;
//!     }
//! }
//! # fn main() {
//! # assert_eq!(saxpy::<f64>::entry().name, "saxpy_f64");
//! # }
//! ```
//!
//! The kernel's signature is its launch: on the host,
//! `saxpy::<f32>::on(&device)?.grid(4).block(256).launch(2.0, &x, &mut y)` takes buffers of those
//! types in that order, on any runtime that implements [`launch::Target`] (the crate `blockwise`
//! does). A generic kernel lists its instances.
//!
//! [`block`] has the API of safe kernels: outputs, shared memory, barriers, warps. In rust-cuda's
//! style a kernel works with pointers:
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// c[i] = a[i] + b[i]
//! ///
//! /// # Safety
//! /// `c` points to at least `a.len()` elements that no other thread writes.
//! #[kernel]
//! pub unsafe fn add(a: &[f32], b: &[f32], c: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < a.len() {
//!         unsafe { *c.add(i) = a[i] + b[i] };
//!     }
//! }
//! ```
//!
//! The crate also builds for the host, for documentation, editors and shared constants. There every
//! device function panics when called; arithmetic ([`GpuFloat`]) and atomics work on both.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        alloc_error_handler,
        asm_experimental_arch,
        linkage,
        link_llvm_intrinsics,
        rustc_attrs
    )
)]

#[doc(hidden)]
pub extern crate alloc;

/// What generated code names, and no crate can redirect: `$crate::__private::core`.
#[doc(hidden)]
pub mod __private {
    pub use cuda_std_macros::{__address_space, __kernel, __not_built, __plain};
    pub use {crate::names_of_cuda::Named, crate::names_of_cuda::OfTheUser, core};
}

pub mod async_copy;
pub mod atomic;
pub mod block;
pub mod cfg;
pub mod float;
pub mod intrinsics;
pub mod io;
pub mod launch;
pub mod mem;
pub mod misc;
#[rustfmt::skip] mod names_of_cuda;
mod nvvm;
#[doc(hidden)]
pub mod opaque;
pub mod panic;
pub mod prelude;
pub mod ptr;
pub mod shared;
pub mod thread;
pub mod uniform;
pub mod unroll;
pub mod warp;

pub use block::{Mine, Out};
pub use cuda_std_macros::{Plain, address_space, externally_visible, gpu_only, kernel};
pub use float::{FloatExt, GpuFloat};
#[cfg(all(feature = "glam", not(feature = "glam_0_22")))]
pub use glam;
#[cfg(feature = "glam_0_22")]
pub use glam_0_22 as glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
pub use launch::Plain;
#[cfg(feature = "vek")]
pub use vek;

/// The second step of [`kernel`]. `$crate` is this crate, whatever the user's crate calls it. The
/// methods `grid`, `block` and `covering` of its launch have their places here: for arguments of a
/// wrong number or type the compiler shows the line of the name.
#[doc(hidden)]
#[macro_export]
#[rustfmt::skip]
macro_rules! __kernel {
    ({$($arguments:tt)*} $($item:tt)*) => {
        #[$crate::__private::__kernel(unsafe $crate, [
            grid // blocks: `.grid(8)`, `.grid((8, 4))`, `.grid((8, 4, 2))`; for n threads `.covering(n)?`
            block // threads of each: `.block(256)`, `.block((16, 16))`, `.block((8, 8, 4))`
            covering // `n` threads along x; in two dimensions `.grid((cols.div_ceil(16) as u32, rows.div_ceil(16) as u32))`
        ] $($arguments)*)]
        $($item)*
    };
}

/// The second step of [`address_space`].
#[doc(hidden)]
#[macro_export]
macro_rules! __address_space {
    ({$($arguments:tt)*} $($item:tt)*) => {
        #[$crate::__private::__address_space(unsafe $crate, $($arguments)*)]
        $($item)*
    };
}

/// The second step of [`Plain`](derive@Plain).
#[doc(hidden)]
#[macro_export]
macro_rules! __plain {
    ($($item:tt)*) => {
        $crate::__private::__plain! { unsafe $crate, $($item)* }
    };
}

/// The PTX embedded by the package's build script, as `crate::KERNELS`: use it once, in the root of
/// the library.
///
/// The build script calls `cuda_builder::embed()`. In the device build the macro expands to
/// nothing.
#[macro_export]
macro_rules! embedded_kernels {
    () => {
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::__private::__not_built! { $crate }

        /// The PTX of this crate's kernels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static KERNELS: $crate::launch::Kernels = {
            use $crate::launch::{KernelsFile, Piece};
            $crate::launch::Kernels {
                package: $crate::__private::core::env!("CARGO_PKG_NAME"),
                // With one argument: rust-analyzer does not know the form of `env!` with a message.
                files: $crate::__private::core::include!($crate::__private::core::concat!(
                    $crate::__private::core::env!("OUT_DIR"),
                    "/kernels.rs"
                )),
            }
        };

        #[doc(hidden)]
        #[cfg(not(target_arch = "nvptx64"))]
        #[$crate::__private::core::prelude::v1::derive($crate::__private::core::fmt::Debug)]
        pub enum EmbeddedKernels {}

        // SAFETY: the build script built the PTX from this crate. The code comes from another
        // crate's macro, which a crate that forbids `unsafe` may call and cannot imitate.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl $crate::launch::Embedded for EmbeddedKernels {
            const KERNELS: &'static $crate::launch::Kernels = &KERNELS;
        }
    };
}
