//! A user's own types, of the names that the launch makes something for.

use cuda_std::prelude::*;

pub mod geometry {
    #[derive(Clone, Copy)]
    pub struct Matrix<T>(pub [[T; 2]; 2]);
    #[derive(Clone, Copy)]
    pub struct Shared<T>(pub T);
}

#[kernel]
pub unsafe fn turns(rotation: geometry::Matrix<f32>, at: *mut f32) {
    unsafe { *at = rotation.0[0][0] };
}

#[kernel]
pub unsafe fn shares(value: geometry::Shared<f32>, block: &mut Block, at: *mut f32) {
    let _ = block;
    unsafe { *at = value.0 };
}

fn main() {}
