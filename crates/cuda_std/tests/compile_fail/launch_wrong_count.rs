#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

/// # Safety
/// `y` is as long as `x`.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    let _ = (a, x, y);
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let (x, mut y) = (Buffer::<f32>::new(0, 1), Buffer::<f32>::new(0, 1));
    let saxpy = saxpy::on(&device)?.grid(1).block(32);
    unsafe {
        saxpy.launch(2.0, &x)?;
        saxpy.launch(2.0, &x, &mut y, 1)
    }
}
