use cuda_std::prelude::*;

#[kernel(fast)]
pub unsafe fn scale(values: *mut f32) {
    let _ = values;
}

fn main() {}
