//! An input and an output of one launch are two buffers.

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
    let mut a = Buffer::<f32>::new(0, 6);
    copy::on(&device)?.grid((1, 1)).launch((&a, 2, 3), (&mut a, 2, 3))
}
