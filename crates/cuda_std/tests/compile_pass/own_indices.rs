//! Names of CUDA C++ that a crate has itself: items, a parameter, a variable.
#![deny(warnings)]
#![allow(non_snake_case, non_upper_case_globals)]
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Extents {
    pub x: usize,
    pub y: [usize; 2],
}

const blockDim: Extents = Extents { x: 2, y: [3, 4] };
static gridDim: Extents = Extents { x: 5, y: [6, 7] };

#[kernel]
pub fn items(mut y: Out<usize>) {
    for (i, y) in y.mine() {
        let pair = blockDim.y;
        *y = blockDim.x + pair[0] + gridDim.y[i % 2] + (|| gridDim.x)();
    }
}

#[kernel(instances(u32, u64))]
pub fn generic<T: Plain>(x: &[T], mut y: Out<T>) {
    for (_, y) in y.mine() {
        *y = x[blockDim.x];
    }
}

#[kernel]
pub fn variables(blockIdx: &[u32], mut y: Out<u32>) {
    let mut threadIdx = [1, 2].map(|x| Extents { x, y: [0; 2] })[0];
    threadIdx.x += 1;
    for (i, y) in y.mine() {
        *y = blockIdx[i] + threadIdx.x as u32;
    }
}

fn main() {}
