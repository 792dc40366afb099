//! A private kernel's launch has methods that nothing calls: no warning of dead code.
#![deny(warnings)]

#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel]
fn scale(x: &[f64], mut y: Out<f64>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

fn scaled(device: &Device, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), Error> {
    scale::on(device)?.covering(1)?.launch(x, y)
}

fn main() {
    let _ = scaled;
}
