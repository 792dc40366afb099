//! PTX from elsewhere: no promise states that it is what the kernels' source says.
#![forbid(unsafe_code)]

use cuda_std::launch::{Embedded, Kernels, KernelsFile};
use cuda_std::prelude::*;

pub static KERNELS: Kernels = Kernels {
    package: "mine",
    files: &[KernelsFile {
        arch: "sm_80",
        only: &[],
        pieces: &[],
        bytes: &[],
    }],
};

pub enum EmbeddedKernels {}

impl Embedded for EmbeddedKernels {
    const KERNELS: &'static Kernels = &KERNELS;
}

#[kernel]
pub fn copy(x: &[f32], y: Out<f32>) {
    let _ = (x, y);
}

mod promised {
    pub enum EmbeddedKernels {}

    unsafe impl cuda_std::launch::Embedded for EmbeddedKernels {
        const KERNELS: &'static cuda_std::launch::Kernels = &crate::KERNELS;
    }
}

fn main() {}
