//! Exercise 6.

mod common;

use blockwise::{Device, Result};
use my_project::e06_turning::{TILE, turn};

fn run(device: &Device, rows: usize, cols: usize) -> Result<()> {
    let pixels: Vec<u32> = (0..(rows * cols) as u32).map(|i| 7 * i + 1).collect();
    let (image, mut turned) = (device.upload(&pixels)?, device.zeros::<u32>(rows * cols)?);
    let blocks = |len: usize| len.div_ceil(TILE) as u32;
    let kernel = turn::on(device)?.grid((blocks(rows), blocks(cols)));
    kernel.launch((&image, rows, cols), (&mut turned, cols, rows))?;
    let right: Vec<u32> = (0..cols)
        .flat_map(|c| (0..rows).map(move |k| (rows - 1 - k, c)))
        .map(|(row, col)| pixels[row * cols + col])
        .collect();
    common::equal(&turned.to_vec()?, &right, format_args!("{rows} × {cols}"));
    Ok(())
}

#[test]
fn images_of_every_shape_are_turned() -> Result<()> {
    for (rows, cols) in [(1, 1), (32, 32), (33, 31), (20, 70)] {
        run(&Device::checked(), rows, cols)?;
    }
    Ok(())
}

#[test]
fn global_memory_is_read_and_written_by_rows() -> Result<()> {
    let total = common::profile(|device| run(device, 64, 64))?.total();
    assert_eq!(
        total.global_loads.sectors_per_request(),
        Some(4.0),
        "sectors per load"
    );
    assert_eq!(
        total.global_stores.sectors_per_request(),
        Some(4.0),
        "sectors per store"
    );
    Ok(())
}
