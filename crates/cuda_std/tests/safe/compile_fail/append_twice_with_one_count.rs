//! Each buffer is borrowed once. Two arrays may not share a count here, though that would be right;
//! one array with two counts would be wrong.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel]
pub fn both(block: &mut Block<32>, a: Append<f32>, b: Append<f32>) {
    let _ = (block, a, b);
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let mut kept = Buffer::<f32>::new(0, 6);
    let (mut count, mut other) = (Buffer::<u64>::new(1, 1), Buffer::<u64>::new(2, 1));
    both::on(&device)?.grid(1).launch((&mut kept, &mut count), (&mut kept, &mut other))
}
