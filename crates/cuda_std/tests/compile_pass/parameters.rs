use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::{externally_visible, gpu_only};

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

/// Every pattern, texts, slices behind raw pointers, and C's calling convention, which means nothing.
///
/// # Safety
/// Never launched.
#[kernel]
pub unsafe extern "C" fn patterns(
    (scale, offset): (f32, f32),
    Shape { rows, .. }: Shape,
    [first, _]: [u32; 2],
    _: f64,
    name: &str,
    raw: *const [u32],
    output: *mut [f32],
) {
    let _ = (scale + offset, rows, first, name.len(), raw, output);
}

pub mod geometry {
    #[derive(Clone, Copy)]
    pub struct Matrix<T>(pub [[T; 2]; 2]);
}

type Rotation = geometry::Matrix<f32>;

/// A user's type whose own name the launch makes something for.
///
/// # Safety
/// Never launched.
#[kernel]
pub unsafe fn turns(rotation: Rotation, at: *mut f32) {
    unsafe { *at = rotation.0[0][0] };
}

#[address_space(global)]
static mut COUNTER: u32 = 0;

#[externally_visible]
pub fn helper(x: f32) -> f32 {
    x + 1.0
}

#[externally_visible]
#[unsafe(no_mangle)]
pub static LIMIT: u32 = 3;

#[gpu_only]
pub fn ticks() -> u64 {
    let ticks: u64 = device_alone();
    ticks
}

fn main() {
    // SAFETY: no other thread uses it.
    unsafe { COUNTER += LIMIT };
    let _ = helper(1.0);
    // On the host the body is not even looked at.
    let message = std::panic::catch_unwind(ticks).unwrap_err();
    assert!(message.downcast_ref::<String>().map(|text| &**text).or(message.downcast_ref::<&str>().copied()).unwrap().contains("`ticks` works only in a kernel"));
    let _ = everything as unsafe fn(&[f32], &mut [f32], *mut u32, Shape, f32);
}
