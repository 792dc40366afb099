use cuda_std::prelude::*;

pub struct Config {
    pub taps: usize,
}

#[kernel]
pub unsafe fn convolve(values: &[f32], config: Config) {
    let _ = (values, config.taps);
}

fn main() {}
