use cuda_std::prelude::*;

#[address_space(texture)]
static TABLE: [f32; 4] = [0.0; 4];

fn main() {}
