#![forbid(unsafe_code, missing_docs, warnings)]
//! A crate without `unsafe`.

cuda_std::embedded_kernels!();

/// A module.
pub mod kernels {
    use cuda_std::prelude::*;

    /// A kernel.
    #[kernel(instances(f32, f64))]
    pub fn copy<T: Plain>(x: &[T], y: Out<'_, T>) {
        let _ = (x, y);
    }
}

fn main() {
    let kernels = kernels::copy::<f64>::entry().kernels.unwrap();
    assert!(std::ptr::eq(kernels, &KERNELS));
    assert_eq!(kernels.package, env!("CARGO_PKG_NAME"));
    let file = &kernels.files[0];
    assert_eq!(file.arch, "sm_80");
    assert_eq!(file.text().as_deref(), Some(".version 7.0\n"));
}
