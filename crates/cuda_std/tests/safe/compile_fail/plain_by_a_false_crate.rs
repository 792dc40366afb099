//! The derive checks the fields by the trait itself.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

mod fake {
    pub mod launch {
        pub use cuda_std::launch::{Plain, join, length, text};

        pub const fn is_plain<T>() {}
    }
}

#[derive(Clone, Copy, Plain)]
#[plain(crate = fake)]
#[repr(transparent)]
struct Address(&'static u32);

fn main() {}
