//! `thread::index_1d` in a grid of one dimension.

use cuda_std::prelude::*;

/// `c[i] = a[i] + b[i]`.
#[kernel]
pub unsafe fn vector_add(a: &[f32], b: &[f32], c: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        *c.add(i) = a[i] + b[i];
    }
}
