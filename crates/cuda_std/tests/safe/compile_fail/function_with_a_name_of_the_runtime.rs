//! And by another attribute.
#![forbid(unsafe_code)]

#[cuda_std::externally_visible]
pub fn free(pointer: usize) {
    let _ = pointer;
}

fn main() {}
