//! Nor has an address one on both sides.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Node {
    next: &'static u32,
}

fn main() {}
