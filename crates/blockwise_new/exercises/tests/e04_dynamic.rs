//! Exercise 4.

mod common;

use blockwise::{Device, Result};
use my_project::e04_dynamic::mirror;

#[test]
fn blocks_of_every_size_reverse_their_elements() -> Result<()> {
    let device = Device::checked();
    for threads in [32_u32, 100, 128, 256, 1024] {
        let values: Vec<u32> = (0..1_500).map(|i| 3 * i + 1).collect();
        let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(values.len())?);
        let kernel = mirror::on(&device)?.block(threads).covering(values.len())?;
        kernel.launch(&x, &mut y)?;
        let mut right = values;
        right
            .chunks_mut(threads as usize)
            .for_each(<[u32]>::reverse);
        common::equal(&y.to_vec()?, &right, format_args!("blocks of {threads}"));
    }
    Ok(())
}
