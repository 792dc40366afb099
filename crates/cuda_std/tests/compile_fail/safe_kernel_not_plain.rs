use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Config {
    pub taps: usize,
}

#[kernel]
pub fn value(config: Config, n: bool) {
    let _ = (config, n);
}

#[kernel]
pub fn elements(x: &[Option<u32>], y: Out<Config>) {
    let _ = (x, y);
}

#[kernel]
pub fn hidden_reference(x: Option<&u32>) {
    let _ = x;
}

fn main() {}
