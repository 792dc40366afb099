//! What a rule compares and computes with.

use cuda_std::prelude::*;

#[derive(Clone, Copy, PartialEq, Plain)]
#[repr(transparent)]
pub struct Mode(u32);

const FAST: Mode = Mode(1);

#[kernel(require(mode == FAST))]
pub fn struct_without_braces(mode: Mode) {
    let _ = mode;
}

#[kernel(require({ mode == FAST }))]
pub fn struct_in_braces(mode: Mode) {
    let _ = mode;
}

#[kernel(require(flag + 1 == 2))]
pub fn sum_of_bools(flag: bool) {
    let _ = flag;
}

#[kernel(require(x.len() == n))]
pub fn two_types(x: &[f32], n: u32) {
    let _ = (x, n);
}

fn main() {}
