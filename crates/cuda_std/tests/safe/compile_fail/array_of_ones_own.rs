//! `Array` promises which thread owns an element: implementing it is `unsafe`.
#![forbid(unsafe_code)]

struct Backwards([u32; 256]);

unsafe impl cuda_std::block::Array for Backwards {}

fn main() {}
