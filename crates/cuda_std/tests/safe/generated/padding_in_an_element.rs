//! Padding bytes have no defined value.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Sample {
    kind: u8,
    value: f32,
}

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[Sample; 256]>) {
    let _ = (block, tile);
}

fn main() {}
