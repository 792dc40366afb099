//! Exercise 14.

mod common;

use blockwise::{Device, Result};
use my_project::e14_tiles::{TILE, product};

fn run(device: &Device, [rows, inner, cols]: [usize; 3]) -> Result<()> {
    let numbers =
        |len: usize, step: u32| -> Vec<u32> { (0..len as u32).map(|i| i * step % 101).collect() };
    let (a_values, b_values) = (numbers(inner * rows, 37), numbers(inner * cols, 53));
    let (a, b) = (device.upload(&a_values)?, device.upload(&b_values)?);
    let mut c = device.zeros::<u32>(rows * cols)?;
    let blocks = |len: usize| len.div_ceil(TILE) as u32;
    product::on(device)?
        .grid((blocks(cols), blocks(rows)))
        .launch((&a, inner, rows), (&b, inner, cols), (&mut c, rows, cols))?;
    for (at, got) in c.to_vec()?.into_iter().enumerate() {
        let (i, j) = (at / cols, at % cols);
        let right: u32 = (0..inner)
            .map(|k| a_values[k * rows + i] * b_values[k * cols + j])
            .sum();
        assert_eq!(got, right, "c[{i}, {j}] of {rows} × {inner} × {cols}");
    }
    Ok(())
}

#[test]
fn products_are_right_at_every_edge() -> Result<()> {
    for extents in [[1, 1, 1], [16, 16, 16], [17, 15, 33], [40, 50, 20]] {
        run(&Device::checked(), extents)?;
    }
    Ok(())
}

#[test]
fn a_block_loads_each_element_once() -> Result<()> {
    let total = common::profile(|device| run(device, [64, 64, 64]))?.total();
    // 128 warps in all, four steps, an element of A and one of B for each thread.
    let requests = total.global_loads.requests;
    assert!(
        requests <= 128 * 4 * 2,
        "{requests} loads from global memory"
    );
    Ok(())
}
