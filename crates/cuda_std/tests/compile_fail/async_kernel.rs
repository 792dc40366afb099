use cuda_std::prelude::*;

#[kernel]
pub async unsafe fn later(values: *mut f32) {
    let _ = values;
}

fn main() {}
