//! A handle is not sent to another thread, which owns other elements.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

fn sent(_: impl Send) {}

pub fn wrong(handle: OutMatrix<'_, u32, 16, 16>) {
    sent(handle);
}

fn main() {}
