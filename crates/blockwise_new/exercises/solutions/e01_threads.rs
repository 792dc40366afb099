//! Exercise 1: what each thread does with its elements.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// fahrenheit\[i\] = 1.8 · celsius\[i\] + 32. Any grid.
#[kernel(require(celsius.len() == fahrenheit.len()))]
pub fn to_fahrenheit(celsius: &[f32], mut fahrenheit: Out<'_, f32>) {
    for (i, result) in fahrenheit.mine() {
        *result = 1.8 * celsius[i] + 32.0;
    }
}
