//! A launch takes buffers of the kernel's element types.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel]
pub fn copy(block: &mut Block<16, 16>, a: Matrix<f32>, c: OutMatrix<f32, 16, 16>) {
    let _ = (block, a, c);
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let a = Buffer::<u32>::new(0, 6);
    let mut c = Buffer::<f32>::new(1, 6);
    copy::on(&device)?.grid((1, 1)).launch((&a, 2, 3), (&mut c, 2, 3))
}
