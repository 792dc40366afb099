//! Choosing a block size, by measuring.
//!
//! More threads per block hide more memory latency, until registers or shared memory run out; a
//! multiple of 32 fills its warps. If no size is given, `covering` asks the device for one. To do
//! better, measure: [`Device::record`](blockwise::Device::record) puts an event into the queue, and
//! the time between two events is measured by the device, without the host's overhead.
//!
//! The first launch is slower than the next ones, so one runs before the measured ones. On the
//! emulator the times are those of the host's CPU and say nothing about a GPU.

#![forbid(unsafe_code)]

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, DeviceKind, Result};

    use crate::first_kernel::saxpy;

    /// Block sizes to measure.
    pub const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

    /// Seconds that a launch with blocks of `threads` takes for `len` elements, the mean of
    /// `launches`.
    pub fn seconds(device: &Device, len: usize, threads: u32, launches: u32) -> Result<f64> {
        let x = device.zeros::<f32>(len)?;
        let mut y = device.zeros::<f32>(len)?;
        let kernel = saxpy::on(device)?.block(threads).covering(len)?;
        kernel.launch(2.0, &x, &mut y)?;
        let start = device.record()?;
        for _ in 0..launches {
            kernel.launch(2.0, &x, &mut y)?;
        }
        let end = device.record()?;
        Ok(end.seconds_since(&start)? / f64::from(launches))
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let (len, launches) = match device.properties().kind {
            // Larger than the caches.
            DeviceKind::Cuda => (1 << 26, 20),
            DeviceKind::Emulator => (1 << 18, 1),
        };
        println!("{len} elements\n{:>7} {:>9} {:>7}", "threads", "µs", "GB/s");
        for threads in BLOCKS {
            let seconds = seconds(device, len, threads, launches)?;
            // Two reads and one write of 4 bytes per element.
            let rate = 12.0 * len as f64 / seconds / 1e9;
            println!("{threads:7} {:9.1} {rate:7.1}", seconds * 1e6);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{BLOCKS, seconds};
    use crate::test_devices::on_every_device;

    #[test]
    fn every_block_size_runs() -> Result<()> {
        on_every_device(|device| {
            for threads in BLOCKS {
                assert!(seconds(device, 3_001, threads, 2)? >= 0.0);
            }
            Ok(())
        })
    }
}
