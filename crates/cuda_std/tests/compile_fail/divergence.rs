use cuda_std::prelude::*;

#[kernel(allow_divergence = "only whole warps branch")]
pub fn safe(x: &[f32]) {
    let _ = x;
}

#[kernel(allow_divergence = " ")]
pub unsafe fn no_reason(x: &[f32]) {
    let _ = x;
}

#[kernel(allow_divergence)]
pub unsafe fn nothing_said(x: &[f32]) {
    let _ = x;
}

fn main() {}
