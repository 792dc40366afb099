use cuda_std::prelude::*;

#[kernel]
pub fn scale(values: *mut f32, factor: f32) {
    let _ = (values, factor);
}

fn main() {}
