//! A crate path without cuda_std's macro, and that inner macro applied by hand.
#![forbid(unsafe_code)]

use cuda_std::kernel;

mod empty {}

#[kernel(crate = empty)]
pub fn nowhere(n: u32) {
    let _ = n;
}

#[::cuda_std::__private::__kernel]
pub fn direct(n: u32) {
    let _ = n;
}

fn main() {}
