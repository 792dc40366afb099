//! A macro in the place of cuda_std's needs `unsafe`.
#![forbid(unsafe_code)]

use cuda_std::kernel;

#[macro_export]
macro_rules! __kernel {
    ({$($arguments:tt)*} $($item:tt)*) => {
        #[::cuda_std::__private::__kernel(unsafe $crate, $($arguments)*)]
        $($item)*
    };
}
pub use ::cuda_std::{__private, block, launch};

#[kernel(crate = crate)]
pub fn imitated(n: u32) {
    let _ = n;
}

fn main() {}
