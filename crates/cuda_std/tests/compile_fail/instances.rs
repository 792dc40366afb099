use cuda_std::prelude::*;

#[kernel(instances(f32))]
pub unsafe fn not_generic(x: &[f32]) {
    let _ = x;
}

#[kernel(instances((f32, 4), f64))]
pub unsafe fn wrong_number<T: Plain, const N: usize>(x: &[T]) {
    let _ = x;
}

#[kernel(instances(4))]
pub unsafe fn constant_for_a_type<T: Plain>(x: &[T]) {
    let _ = x;
}

#[kernel(instances())]
pub unsafe fn none<T: Plain>(x: &[T]) {
    let _ = x;
}

#[kernel(instances(f32 | f64), name = "twice")]
pub unsafe fn twice<T: Plain>(x: &[T]) {
    let _ = x;
}

#[kernel(instances(f32 | f64), name = "sum_{U}")]
pub unsafe fn unknown_parameter<T: Plain>(x: &[T]) {
    let _ = x;
}

#[kernel(instances(f32 | f64), name = "sum-{T}")]
pub unsafe fn no_name<T: Plain>(x: &[T]) {
    let _ = x;
}

const N: usize = 4;

#[kernel(instances(N))]
pub unsafe fn circle<const N: usize>(x: &[[f32; N]]) {
    let _ = x;
}

fn main() {}
