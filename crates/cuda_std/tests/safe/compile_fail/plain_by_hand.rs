//! That every pattern of bits is a value is a promise.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
struct Choice(bool);

unsafe impl Plain for Choice {
    const NAME: &'static str = "Choice";
}

fn main() {}
