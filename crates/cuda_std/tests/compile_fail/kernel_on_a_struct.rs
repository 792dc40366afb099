use cuda_std::prelude::*;

#[kernel]
pub struct NoFunction;

fn main() {}
