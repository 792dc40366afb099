//! A handle is not sent to another thread, which owns other elements.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

fn sent(_: impl Send) {}

pub fn wrong(handle: Ring<'_, [u32; 256], 2>) {
    sent(handle);
}

fn main() {}
