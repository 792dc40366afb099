use cuda_std::prelude::*;

#[kernel]
pub const unsafe fn fill(values: *mut f32) {
    let _ = values;
}

fn main() {}
