use cuda_std::prelude::*;

#[kernel]
pub unsafe extern "C" fn entry(values: *mut f32) {
    let _ = values;
}

fn main() {}
