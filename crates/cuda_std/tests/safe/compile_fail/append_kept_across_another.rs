//! A range is the thread's until the next ticket.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn append(mut kept: Append<f32>) {
    let one = kept.reserve(4);
    let two = kept.reserve(4);
    if let (Some((_, one)), Some((_, two))) = (one, two) {
        one.copy_from_slice(two);
    }
}

fn main() {}
