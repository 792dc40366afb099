#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Device, Error};

/// # Safety
/// None.
#[kernel(instances((f32, 4), (f64, 8)))]
pub unsafe fn blocked<T: Plain, const N: usize>(x: &[T]) {
    let _ = x;
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    let _ = blocked::<f32, 4>::on(&device)?;
    let _ = blocked::<f32, 8>::on(&device)?;
    let _ = blocked::<u8, 4>::entry();
    Ok(())
}
