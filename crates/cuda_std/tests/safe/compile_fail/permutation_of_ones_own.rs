//! Only an `unsafe impl` can claim that numbers are a permutation.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

struct Mine(Buffer<u32>);

impl<'a> cuda_std::launch::Permutes<'a> for &'a Mine {
    fn pass(self) -> cuda_std::launch::Memory<'a> {
        cuda_std::launch::Read::pass(&self.0)
    }
}

fn main() -> Result<(), Error> {
    let _ = (Device::default(), Mine(Buffer::new(0, 6)));
    Ok(())
}
