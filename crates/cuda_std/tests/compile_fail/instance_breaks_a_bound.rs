use cuda_std::prelude::*;

pub trait Number: Plain {}
impl Number for f32 {}

#[kernel(instances(f32, u8))]
pub unsafe fn add<T: Number>(x: &[T]) {
    let _ = x;
}

#[kernel(instances(f32))]
pub unsafe fn body<T: Number>(x: &[T]) {
    let wrong: u32 = x[0];
}

fn main() {}
