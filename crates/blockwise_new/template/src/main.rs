//! Smooths a step on the GPU, or on the emulator where there is none.

use blockwise::Device;
use my_project::kernels::smoothed;

fn main() -> blockwise::Result<()> {
    let device = Device::any()?;
    if let Some(reason) = device.fallback() {
        eprintln!("using the emulator: {reason}");
    }
    let step = [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 3.0];
    let smooth = smoothed(&device, &step)?;
    println!("on {}", device.properties().name);
    println!("{step:?}\n{smooth:?}");
    Ok(())
}
