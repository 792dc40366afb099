use cuda_std::prelude::*;

#[address_space(shared)]
fn tile() {}

fn main() {}
