use cuda_std::launch::{Entry, Instance};
use cuda_std::prelude::*;

#[kernel]
pub fn one(x: &[f32], y: Out<f32>) {
    let _ = (x, y);
}

#[kernel(instances(f32))]
pub fn generic<T: Plain>(x: &[T]) {
    let _ = x;
}

impl Instance for generic<f64> {
    const ENTRY: &'static Entry = <one as Instance>::ENTRY;
}

fn main() {}
