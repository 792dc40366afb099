//! Exercise 15.

mod common;

use blockwise::{Device, Result};
use my_project::e15_registers::{SIDE, multiply};

fn run(device: &Device, [rows, inner, cols]: [usize; 3]) -> Result<()> {
    let numbers =
        |len: usize, step: u32| -> Vec<u32> { (0..len as u32).map(|i| i * step % 101).collect() };
    let (a_values, b_values) = (numbers(rows * inner, 37), numbers(inner * cols, 53));
    let (a, b) = (device.upload(&a_values)?, device.upload(&b_values)?);
    let mut c = device.zeros::<u32>(rows * cols)?;
    let blocks = |len: usize| len.div_ceil(SIDE) as u32;
    multiply::on(device)?
        .grid((blocks(cols), blocks(rows)))
        .launch((&a, rows, inner), (&b, inner, cols), (&mut c, rows, cols))?;
    for (at, got) in c.to_vec()?.into_iter().enumerate() {
        let (row, col) = (at / cols, at % cols);
        let right: u32 = (0..inner)
            .map(|k| a_values[row * inner + k] * b_values[k * cols + col])
            .sum();
        assert_eq!(got, right, "c[{row}, {col}] of {rows} × {inner} × {cols}");
    }
    Ok(())
}

#[test]
fn products_are_right_at_every_edge() -> Result<()> {
    for extents in [[1, 1, 1], [32, 16, 32], [33, 15, 31], [70, 40, 50]] {
        run(&Device::checked(), extents)?;
    }
    Ok(())
}

#[test]
fn shared_memory_is_read_half_as_often() -> Result<()> {
    let total = common::profile(|device| run(device, [64, 64, 64]))?.total();
    // With one sum a thread, 128 warps read two elements for each of 64 products.
    let requests = total.shared_loads.requests;
    assert!(
        requests <= 128 * 64 * 2 / 2,
        "{requests} loads from shared memory"
    );
    assert_eq!(total.local_requests, 0, "the sums are in registers");
    Ok(())
}
