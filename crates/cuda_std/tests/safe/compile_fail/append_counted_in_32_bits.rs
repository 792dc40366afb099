//! The count has 64 bits: tickets of 32 bits would repeat after 2³² of them.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel]
pub fn append(kept: Append<f32>) {
    let _ = kept;
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let (mut kept, mut count) = (Buffer::<f32>::new(0, 6), Buffer::<u32>::new(1, 1));
    append::on(&device)?.grid(1).block(32).launch((&mut kept, &mut count))
}
