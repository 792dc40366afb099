use cuda_std::prelude::*;

#[kernel(require(x.len()))]
pub unsafe fn number(x: &[f32]) {
    let _ = x;
}

#[kernel(require(x.len() == n, y.len() == 4))]
pub unsafe fn other_types(n: u32, x: &[f32]) {
    let _ = (n, x);
}

#[kernel(require(x[0] > 0.0))]
pub unsafe fn contents(x: &[f32]) {
    let _ = x;
}

fn main() {}
