use cuda_std::prelude::*;

#[kernel]
pub unsafe fn copy<T: Copy>(from: &[T], to: *mut T) {
    let _ = (from, to);
}

fn main() {}
