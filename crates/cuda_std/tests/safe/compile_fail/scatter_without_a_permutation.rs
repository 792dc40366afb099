//! A launch takes a scatter as a buffer with its permutation.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel]
pub fn scatter(y: Scatter<f32>) {
    let _ = y;
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let mut y = Buffer::<f32>::new(0, 6);
    scatter::on(&device)?.grid(1).block(32).launch(&mut y)
}
