//! Launches as those of CUDA's runtime, and arguments of other types.

#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;

use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

#[kernel(require(x.len() == y.len()))]
pub fn scale(a: f64, n: u32, x: &[f64], mut y: Out<f64>) {
    for (i, y) in y.mine() {
        *y = a * x[i] * n as f64;
    }
}

#[kernel(shared(tile = block.threads()))]
pub fn reversed(block: &mut Block, tile: Shared<[f64]>, x: &[f64], y: Out<f64>) {
    let _ = (block, tile, x, y.len());
}

pub fn not_marked(x: &[f64], mut y: Out<f64>) {
    let _ = (x, y.mine());
}

fn types(device: &Device, n: usize) -> Result<(), Error> {
    let (x, mut y) = (Buffer::<f64>::new(0, 1), Buffer::<f64>::new(0, 1));
    let floats = Buffer::<f32>::new(0, 1);
    let kernel = scale::on(device)?.grid(1).block(32);
    kernel.launch(2.0_f32, 1, &x, &mut y)?; // shows: 2.0_f64
    kernel.launch(2.0, n, &x, &mut y)?; // shows: n.try_into().unwrap()
    kernel.launch(2.0, 1, &floats, &mut y)?; // shows: of the same element type
    kernel.launch(2.0, 1, &x, &y)?; // shows: &x, &mut y
    kernel.launch(2.0, 1, x, &mut y)?; // shows: kernel.launch(2.0, 1, &x, &mut y)?;
    kernel.launch(2.0, 1, &[1.0], &mut y)?; // shows: pass `&buffer`
    kernel.launch(2.0, 1, &vec![1.0], &mut y)?; // shows: `let buffer = device.upload(&values)?;`
    kernel.launch(2.0, 1, &x, &mut vec![1.0])?; // shows: `let mut buffer = device.zeros::<f32>(n)?;`
    kernel.launch(&x, &mut y, 2.0, 1)?; // shows: of the same element type
    kernel.launch(&x, &mut y) // shows: provide the arguments
}

fn shapes(device: &Device) -> Result<(), Error> {
    let (x, mut y) = (Buffer::<f64>::new(0, 1), Buffer::<f64>::new(0, 1));
    scale::on(device).grid(1).block(32).launch(2.0, 1, &x, &mut y)?; // shows: use the `?` operator
    scale::on(device)?.grid(1_usize).block(32).launch(2.0, 1, &x, &mut y)?; // shows: `.covering(n)?`
    reversed::on(device)?.grid(1).block(32).shared_bytes(256).launch(&x, &mut y) // shows: leave `.shared_bytes(..)` out
}

fn extents(device: &Device) -> Result<(), Error> {
    let (x, mut y) = (Buffer::<f64>::new(0, 1), Buffer::<f64>::new(0, 1));
    let kernel = scale::on(device)?;
    let of_two = kernel.clone().grid(1, 1).block(256); // shows: `.grid((8, 4))`
    let of_three = kernel.clone().grid(1).block(16, 16, 1); // shows: `.block((16, 16))`
    let _ = (of_two, of_three);
    kernel.clone().covering((64, 64))?; // shows: `.grid((cols.div_ceil(16) as u32, rows.div_ceil(16) as u32))`
    kernel.clone().grid(1).threads(256).launch(2.0, 1, &x, &mut y)?; // shows: `.grid(64).block(256)`
    kernel.blocks((1, 1)).block(256).launch(2.0, 1, &x, &mut y) // shows: `.grid(64).block(256)`
}

fn not_a_launch(device: &Device) -> Result<(), Error> {
    let (x, mut y) = (Buffer::<f64>::new(0, 1), Buffer::<f64>::new(0, 1));
    scale(2.0, 1, &x, &mut y); // shows: `scale::on(&device)?.grid(1).block(256).launch(&x, &mut y)?;`
    scale(&x, &mut y); // shows: `scale::on(&device)?.grid(1).block(256)
    let _: Result<(), Error> = reversed(1, 256, &x, &mut y); // shows: `reversed::on(&device)?
    scale.launch(2.0, 1, &x, &mut y)?; // shows: `scale::on(&device)?.grid(1).block(256)
    scale.grid(1).block(256).launch(2.0, 1, &x, &mut y)?; // shows: `scale::on(&device)?
    reversed.on(device)?; // shows: `reversed::on(&device)?
    not_marked::on(device)?; // shows: not_marked
    Ok(())
}

fn main() {}
