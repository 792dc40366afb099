//! Transitions are the library's.
#![forbid(unsafe_code)]

struct Mine;

impl cuda_std::block::Phase for Mine {
    type Next = ();
}

fn main() {}
