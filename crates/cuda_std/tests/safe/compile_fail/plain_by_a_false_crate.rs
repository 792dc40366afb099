//! The derive's second step is cuda_std's own macro.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

mod fake {
    pub mod launch {
        pub const fn is_plain<T>() {}
    }
}

#[derive(Clone, Copy, Plain)]
#[plain(crate = fake)]
#[repr(transparent)]
struct Address(&'static u32);

fn main() {}
