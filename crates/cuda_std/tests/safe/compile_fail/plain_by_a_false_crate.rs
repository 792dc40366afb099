//! The derive uses cuda_std's own macro, which another crate cannot replace.
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
