//! A reference has no meaning across host and device.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Node {
    next: &'static u32,
}

fn main() {}
