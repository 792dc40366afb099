//! A table in constant memory, read by an index that differs between threads.

use cuda_std::prelude::*;

#[address_space(constant)]
static COEFFICIENTS: [[f32; 3]; 4] = [
    [1.0, -2.0, 0.5],
    [0.0, 3.0, 0.25],
    [-1.5, 0.0, 2.0],
    [4.0, 4.0, -4.0],
];

/// The polynomial number `i % 4` at `x[i]`.
#[kernel]
pub unsafe fn constant_polynomials(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let [a, b, c] = COEFFICIENTS[i % 4];
        *out.add(i) = (c * x[i] + b) * x[i] + a;
    }
}
