use cuda_std::launch::{Kernels, KernelsFile};

pub static KERNELS: Kernels = Kernels {
    package: "mine",
    files: &[KernelsFile {
        arch: "sm_80",
        text: ".version 7.0",
    }],
};

pub mod kernels {
    use cuda_std::prelude::*;

    #[kernel(instances(f32, f64))]
    pub fn copy<T: Plain>(x: &[T], y: Out<T>) {
        let _ = (x, y);
    }
}

fn main() {
    let kernels = kernels::copy::<f64>::entry().kernels.unwrap();
    assert_eq!((kernels.package, kernels.files[0].arch), ("mine", "sm_80"));
    assert!(std::ptr::eq(kernels, &KERNELS));
}
