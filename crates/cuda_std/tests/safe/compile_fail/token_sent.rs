//! The block's token cannot go to another thread.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

fn sent(_: impl Send) {}

pub fn wrong(block: &mut Block<256>) {
    sent(block);
}

fn main() {}
