//! The kernel says how much shared memory it needs.

#[path = "../../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel(shared(tile = block.threads()))]
pub fn dynamic(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() -> Result<(), Error> {
    let device = Device::default();
    dynamic::on(&device)?.grid(1).block(64).shared_bytes(16).launch()
}
