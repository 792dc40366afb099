use cuda_std::prelude::*;

#[kernel(max_threads = 0, min_blocks = 1)]
pub unsafe fn zero() {}

#[kernel(max_threads = 128)]
pub unsafe fn half() {}

#[kernel(grid_dim = 4d)]
pub unsafe fn dimensions() {}

#[kernel(name = "a", name = "b")]
pub unsafe fn twice() {}

#[kernel(crate = "cuda_std")]
pub unsafe fn path() {}

fn main() {}
