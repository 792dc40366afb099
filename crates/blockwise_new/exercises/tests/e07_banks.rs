//! Exercise 7.

mod common;

use blockwise::{Device, Result};
use my_project::e07_banks::{SIDE, row_sums};

fn run(device: &Device, rows: usize) -> Result<()> {
    let values: Vec<u32> = (0..(rows * SIDE) as u32).map(|i| i * i % 1_000).collect();
    let (a, mut sums) = (device.upload(&values)?, device.zeros::<u32>(rows)?);
    let kernel = row_sums::on(device)?.covering(rows)?;
    kernel.launch((&a, rows, SIDE), &mut sums)?;
    let right: Vec<u32> = values.chunks(SIDE).map(|row| row.iter().sum()).collect();
    common::equal(&sums.to_vec()?, &right, format_args!("{rows} rows"));
    Ok(())
}

#[test]
fn rows_are_added_up() -> Result<()> {
    run(&Device::checked(), 32)?;
    run(&Device::checked(), 75)
}

#[test]
fn every_access_takes_one_wavefront() -> Result<()> {
    let total = common::profile(|device| run(device, 64))?.total();
    assert!(total.shared().requests > 0, "the tile is in shared memory");
    let wavefronts = total.shared().wavefronts_per_request();
    assert_eq!(
        wavefronts,
        Some(1.0),
        "wavefronts per access of shared memory"
    );
    assert_eq!(
        total.global_loads.sectors_per_request(),
        Some(4.0),
        "sectors per load"
    );
    Ok(())
}
