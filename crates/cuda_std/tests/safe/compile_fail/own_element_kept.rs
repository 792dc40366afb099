//! A thread borrows its own element once at a time.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn twice(mut y: Out<u32>) {
    if let (Some((_, a)), Some((_, b))) = (y.own(), y.own()) {
        core::mem::swap(a, b);
    }
}

fn main() {}
