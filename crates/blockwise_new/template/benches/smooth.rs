//! Times the kernel by the device's clock: `cargo bench`.

use blockwise::Device;
use my_project::kernels::smooth;

const LAUNCHES: u32 = 20;

fn main() -> blockwise::Result<()> {
    let device = Device::any()?;
    println!("{}", device.properties().name);
    let sizes = match device.fallback() {
        None => [1 << 16, 1 << 20, 1 << 24, 1 << 26],
        Some(reason) => {
            println!("{reason}: the emulator's times say nothing about a GPU's");
            [1 << 8, 1 << 10, 1 << 12, 1 << 14]
        }
    };
    println!("{:>12}{:>14}{:>12}", "elements", "µs", "GB/s");
    for elements in sizes {
        let x = device.upload(&vec![1.0_f32; elements])?;
        let mut y = device.zeros(elements)?;
        let kernel = smooth::on(&device)?.covering(elements)?;
        // The first launch is not timed: the device wakes up, and the driver compiles the kernel.
        kernel.launch(&x, &mut y)?;
        let start = device.record()?;
        for _ in 0..LAUNCHES {
            kernel.launch(&x, &mut y)?;
        }
        let seconds = device.record()?.seconds_since(&start)? / f64::from(LAUNCHES);
        let bytes = 2 * size_of::<f32>() * elements;
        println!(
            "{elements:>12}{:>14.2}{:>12.2}",
            seconds * 1e6,
            bytes as f64 / seconds / 1e9
        );
    }
    Ok(())
}
