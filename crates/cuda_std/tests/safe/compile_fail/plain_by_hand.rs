//! `Plain` promises that every bit pattern is a value: implementing it is `unsafe`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
struct Choice(bool);

unsafe impl Plain for Choice {
    const NAME: &'static str = "Choice";
}

fn main() {}
