use cuda_std::prelude::*;

#[kernel]
pub unsafe fn count(total: &mut u32) {
    *total += 1;
}

fn main() {}
