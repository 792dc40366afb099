//! `externally_visible` cannot export a name that compiled code calls.
#![forbid(unsafe_code)]

#[cuda_std::externally_visible]
pub fn free(pointer: usize) {
    let _ = pointer;
}

fn main() {}
