//! Kernels with safe launches.

use core::ops::{AddAssign, Mul};

use cuda_std::prelude::*;

/// `out[i] = value`; any launch.
#[kernel(instances(u8, u16, u32, f64))]
pub fn stamped<T: Plain>(value: T, mut out: Out<'_, T>) {
    for (_, element) in out.mine() {
        *element = value;
    }
}

/// `wrong[i] += 1` where `input[i]` is not `expected`; any launch.
#[kernel(require(input.len() == wrong.len()))]
pub fn count_other_than(input: &[u32], expected: u32, mut wrong: Out<'_, u32>) {
    for (i, wrong) in wrong.mine() {
        *wrong += u32::from(input[i] != expected);
    }
}

/// `y[i] += a · x[i]`; any launch.
#[kernel(instances(f32, f64), require(x.len() == y.len()))]
pub fn axpy<T: Plain + Mul<Output = T> + AddAssign>(a: T, x: &[T], mut y: Out<'_, T>) {
    for (i, y) in y.mine() {
        *y += a * x[i];
    }
}
