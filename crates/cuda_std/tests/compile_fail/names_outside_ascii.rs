//! PTX knows ASCII only; the kernel's name in Rust and its parameters' are free.

use cuda_std::prelude::*;

#[kernel]
pub fn größer(mut out: Out<u32>) {
    for (_, out) in out.mine() {
        *out = 1;
    }
}

#[kernel(instances(f32, f64))]
pub fn größer_als<T: Plain>(x: &[T]) {
    let _ = x;
}

#[kernel(name = "größer")]
pub fn named(x: &[f32]) {
    let _ = x;
}

#[kernel(name = "groesser")]
pub fn höher(größe: u32) {
    let _ = größe;
}

fn main() {}
