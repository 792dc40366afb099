//! Exercise 1.

use blockwise::{Device, Result};
use my_project::e01_threads::to_fahrenheit;

#[test]
fn every_element_is_converted() -> Result<()> {
    let device = Device::checked();
    for len in [1, 31, 256, 1_000] {
        let values: Vec<f32> = (0..len).map(|i| i as f32 - 40.0).collect();
        let celsius = device.upload(&values)?;
        let mut fahrenheit = device.zeros::<f32>(len)?;
        let kernel = to_fahrenheit::on(&device)?.covering(len)?;
        kernel.launch(&celsius, &mut fahrenheit)?;
        for (got, celsius) in fahrenheit.to_vec()?.iter().zip(values) {
            let right = 1.8 * celsius + 32.0;
            assert!(
                (got - right).abs() < 1e-3,
                "{celsius} °C is {right:.1} °F, not {got}"
            );
        }
    }
    Ok(())
}
