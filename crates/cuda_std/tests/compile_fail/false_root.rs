//! A path to something that only looks like cuda_std: its checks accept anything. The path leads to
//! cuda_std's own macro, and so to the real checks.
#![forbid(unsafe_code)]
#![allow(unused_imports)]

use cuda_std::kernel;

mod fake {
    pub use cuda_std::*;

    pub mod launch {
        pub use cuda_std::launch::*;

        pub const fn is_value<T>() {}
        pub const fn is_plain<T>() {}
    }

    pub mod block {
        pub use cuda_std::block::*;

        pub const fn made_by_launch<T>() {}
    }
}

#[kernel(crate = fake)]
pub fn value(n: (u8, u16)) {
    let _ = n;
}

#[kernel(crate = fake)]
pub fn elements(x: &[(u8, u16)]) {
    let _ = x;
}

#[derive(Clone, Copy, cuda_std::Plain)]
#[plain(crate = fake)]
#[repr(C)]
pub struct Wrapped(bool, (u8, u16));

fn main() {}
