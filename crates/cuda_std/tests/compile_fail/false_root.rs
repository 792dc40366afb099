//! A path to something that only looks like cuda_std.
#![forbid(unsafe_code)]

use cuda_std::kernel;

mod fake {
    pub use cuda_std::*;

    pub mod launch {
        pub use cuda_std::launch::*;

        pub const fn is_value<T>() {}
    }
}

// Leads to cuda_std's own macro: the check is the real one.
#[kernel(crate = fake)]
pub fn reference(n: &'static u32, x: &[(u8, u16)]) {
    let _ = (n, x);
}

#[kernel(crate = fake)]
pub fn tuple(n: (u8, u16)) {
    let _ = n;
}

fn main() {}
