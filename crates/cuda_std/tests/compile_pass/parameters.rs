use core::mem::MaybeUninit;

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Shape {
    pub rows: usize,
    pub cols: usize,
}

#[address_space(shared)]
static mut TILE: [MaybeUninit<f32>; 64] = [const { MaybeUninit::uninit() }; 64];

#[address_space(constant)]
static WEIGHTS: [f32; 2] = [0.5, 0.25];

/// Slices of both kinds, pointers, plain data, a lifetime and no parameters at all are kernels.
///
/// # Safety
/// Never launched.
#[kernel]
pub unsafe fn everything<'a>(input: &'a [f32], output: &mut [f32], raw: *mut u32, shape: Shape, mut factor: f32) {
    factor *= WEIGHTS[0];
    let tile = shared_array![f32; 16];
    let _ = (input, output, raw, shape.rows * shape.cols, factor, tile, &raw mut TILE);
}

/// # Safety
/// Never launched.
#[kernel]
#[allow(dead_code)]
unsafe fn nothing() {}

fn main() {
    let _ = everything as unsafe fn(&[f32], &mut [f32], *mut u32, Shape, f32);
}
