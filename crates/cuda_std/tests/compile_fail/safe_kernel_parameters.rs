use cuda_std::prelude::*;

#[kernel]
pub fn raw(out: *mut f32) {
    let _ = out;
}

#[kernel]
pub fn raw_slice(x: *const [f32]) {
    let _ = x;
}

#[kernel]
pub fn exclusive(out: &mut [f32]) {
    let _ = out;
}

#[kernel]
pub fn exclusive_value(out: &mut f32) {
    let _ = out;
}

#[kernel]
pub fn reference(size: &u32) {
    let _ = size;
}

#[kernel]
pub fn forever(x: &'static [f32]) {
    let _ = x;
}

#[kernel]
pub fn output_forever(x: Out<'static, f32>) {
    let _ = x;
}

fn main() {}
