use cuda_std::prelude::*;

#[kernel]
pub fn copy(x: &[f32], y: Out<f32>) {
    let _ = (x, y);
}

fn main() {}
