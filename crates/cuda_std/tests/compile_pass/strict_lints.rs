//! What `#[kernel]` writes never trips over the lints of the crate that it is in.

#![forbid(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused,
    unused_qualifications,
    unused_lifetimes,
    unused_results,
    single_use_lifetimes,
    private_bounds,
    private_interfaces,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_op_in_unsafe_fn,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    trivial_casts,
    trivial_numeric_casts
)]

use cuda_std::prelude::*;

mod private {
    use cuda_std::prelude::*;

    pub(super) trait Number: Plain {}
    impl Number for f32 {}
    impl Number for f64 {}

    #[derive(Clone, Copy, Debug, Plain)]
    #[repr(C)]
    pub(crate) struct Pair {
        pub(crate) x: f32,
        pub(crate) y: f32,
    }

    /// In a module of its own.
    ///
    /// # Safety
    /// None.
    #[kernel(instances(f32 | f64, Pair))]
    pub(crate) unsafe fn copy<T: Plain>(from: &[T], to: *mut T) {
        let _ = (from, to);
    }

    /// A private trait.
    ///
    /// # Safety
    /// None.
    #[kernel(instances(f32), require(x.len() > 1))]
    pub(crate) unsafe fn numbers<T: Number>(x: &[T]) {
        let _ = x;
    }

    /// It is never launched.
    #[kernel]
    fn unused(x: &[f32], y: Out<'_, f32>) {
        let _ = (x, y);
    }
}

/// More parameters than clippy likes.
///
/// # Safety
/// None.
#[kernel(require(n > 1))]
pub unsafe fn many(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32, i: u32, n: u32, y: *mut u32) {
    let _ = (a, b, c, d, e, f, g, h, i, n, y);
}

/// With a lifetime.
///
/// # Safety
/// None.
#[kernel]
pub unsafe fn lifetimes<'a>(x: &'a [f32], y: Option<&'a u32>) {
    let _ = (x, y);
}

/// Old.
#[kernel(instances(f32), require(x.len() > 1))]
#[deprecated]
pub fn old<T: Plain>(x: &[T]) {
    let _ = x;
}

/// Old, too.
#[kernel]
#[deprecated]
pub fn older(x: &[f32]) {
    let _ = x;
}

fn main() {
    /// In a function.
    #[kernel(instances((f32, 4)))]
    fn inner<T: Plain, const N: usize>(x: &[[T; N]]) {
        let _ = x;
    }
    let _ = inner::<f32, 4>::entry();

    let _ = (private::copy::<f32>::entry(), private::numbers::<f32>::entry());
    let _ = private::Pair { x: 1.0, y: 2.0 };
}
