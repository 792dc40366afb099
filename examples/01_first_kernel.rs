//! A first kernel: y = a·x + y.
//!
//! A kernel is a function that many threads run at the same time. Threads come in blocks, and a
//! launch starts a grid of blocks.
//!
//! - The kernel is safe Rust. [`Out`] gives each thread its own elements, so no two threads write
//!   the same one, whatever the grid is.
//! - The host uploads, launches and reads back. The launch has the kernel's signature: a wrong
//!   type, count, order or mutability of the arguments does not compile. `require` states the
//!   conditions that types cannot; they are checked before the kernel starts.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

// ANCHOR: kernel
/// y = a·x + y.
#[kernel(require(x.len() == y.len()))]
pub fn saxpy(a: f32, x: &[f32], mut y: Out<'_, f32>) {
    for (i, y) in y.mine() {
        *y = a.mul_add(x[i], *y);
    }
}
// ANCHOR_END: kernel

// ANCHOR: launch
/// a·x + y, on the host.
#[cfg(not(target_arch = "nvptx64"))]
pub fn saxpy_on(
    device: &blockwise::Device,
    a: f32,
    x: &[f32],
    y: &[f32],
) -> blockwise::Result<Vec<f32>> {
    let x = device.upload(x)?;
    let mut y = device.upload(y)?;
    // Enough blocks for one thread per element; the device chooses the block size.
    let kernel = saxpy::on(device)?.covering(y.len())?;
    kernel.launch(a, &x, &mut y)?;
    y.to_vec()
}
// ANCHOR_END: launch

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::saxpy_on;

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let x: Vec<f32> = (0..100_000).map(|i| (0.37 * i as f32).sin()).collect();
        let y: Vec<f32> = (0..100_000).map(|i| (0.11 * i as f32).cos()).collect();
        let got = saxpy_on(device, 2.5, &x, &y)?;
        let reference: Vec<_> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| 2.5_f32.mul_add(*x, *y))
            .collect();
        assert_eq!(got, reference);
        println!(
            "2.5·x + y of {} elements, the same bits as on the host",
            got.len()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Result};

    use super::{saxpy, saxpy_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn every_element_is_a_x_plus_y() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, 255, 256, 257, 997, 5_000] {
                let x: Vec<_> = (0..len).map(|i| i as f32).collect();
                let y: Vec<_> = (0..len).map(|i| 0.5 - i as f32).collect();
                let reference: Vec<_> = (0..len).map(|i| i as f32 + 0.5).collect();
                assert_eq!(saxpy_on(device, 2.0, &x, &y)?, reference, "{len} elements");
            }
            Ok(())
        })
    }

    #[test]
    fn a_small_grid_strides_over_all_elements() -> Result<()> {
        on_every_device(|device| {
            let x = device.upload(&[1.0; 1_000])?;
            let mut y = device.upload(&[0.25; 1_000])?;
            saxpy::on(device)?
                .grid(2)
                .block(32)
                .launch(2.0, &x, &mut y)?;
            assert_eq!(y.to_vec()?, [2.25; 1_000]);
            Ok(())
        })
    }

    #[test]
    fn vectors_of_two_lengths_are_refused() {
        let error = saxpy_on(&Device::checked(), 2.0, &[1.0; 3], &[1.0; 2]).unwrap_err();
        assert!(error.to_string().contains("x.len() == y.len()"), "{error}");
    }
}
