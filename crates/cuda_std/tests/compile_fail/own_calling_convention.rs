use cuda_std::prelude::*;

#[kernel]
pub unsafe extern "system" fn entry(values: *mut f32) {
    let _ = values;
}

fn main() {}
