//! Functions of C's mathematics and types of CUDA C++, which no name of the prelude is.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn roots(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = sqrtf(x[i]); // shows: `x.sqrt()`, a method
        *y += rsqrtf(x[i]); // shows: `1.0 / x.sqrt()`
    }
}

#[kernel]
pub fn soft(x: &[f64], mut y: Out<f64>) {
    for (i, y) in y.mine() {
        *y = exp(x[i]) + log(x[i]); // shows: `x.exp()`, a method
        *y += pow(x[i], 2.0); // shows: `x.powf(y)`, a method
    }
}

#[kernel]
pub fn rectified(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = fmaxf(x[i], 0.0); // shows: `x.max(y)`, a method
        *y += max(x[i], 0.0); // shows: `x.max(y)`, a method
        *y += fabsf(x[i]); // shows: `x.abs()`, a method
    }
}

#[kernel]
pub fn combined(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = fmaf(x[i], 2.0, 1.0); // shows: `x.mul_add(y, z)`, a method
        *y -= floorf(x[i]); // shows: `x.floor()`, a method
        *y *= tanhf(x[i]); // shows: `x.tanh()`, a method
    }
}

#[kernel]
pub fn bodies(x: &[float4], n: uint32_t) { // shows: `[f32; 4]`
    let m: size_t = 4; // shows: `usize`
    let _ = (x, n, m);
}

fn main() {}
