//! Which thread owns an element is a promise.
#![forbid(unsafe_code)]

struct Backwards([u32; 256]);

unsafe impl cuda_std::block::Array for Backwards {}

fn main() {}
