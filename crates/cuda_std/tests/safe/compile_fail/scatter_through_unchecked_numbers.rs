//! Unchecked indices may contain an index twice.

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
    let (mut y, numbers) = (Buffer::<f32>::new(0, 6), Buffer::<u32>::new(1, 6));
    scatter::on(&device)?.grid(1).block(32).launch((&mut y, &numbers))
}
