use cuda_std::prelude::*;
use cuda_std::externally_visible;

#[kernel]
pub fn memcpy(x: &[f32]) {
    let _ = x;
}

#[kernel(name = "__nv_expf")]
pub fn expf(x: &[f32]) {
    let _ = x;
}

#[kernel(instances(f32), name = "cuda_std_{T}")]
pub fn generic<T: Plain>(x: &[T]) {
    let _ = x;
}

#[externally_visible]
pub fn malloc(bytes: u64) -> u64 {
    bytes
}

#[externally_visible]
pub static __assertfail: u32 = 3;

fn main() {}
