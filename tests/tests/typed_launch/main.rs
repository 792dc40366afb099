//! Launches by kernels' handles, on every device that is there: signatures are compared, buffers on
//! several streams stay in order, graphs replay, views keep to themselves, and what cannot be right
//! is refused.

mod checked;
mod contracts;
mod foreign;
mod graphs;
mod missing;
mod pools;
mod signatures;
mod streams;
mod structs;
mod views;

use blockwise::{Device, DeviceKind, Module};
use blockwise_tests::devices::devices;
use blockwise_tests::ptx::{file, load};

/// Every device, with the kernels of `device_api`.
fn benches() -> Vec<(&'static Device, Module)> {
    let with_kernels = |device| (device, kernels_of("device_api", device));
    devices().iter().map(with_kernels).collect()
}

fn kernels_of(stem: &str, device: &Device) -> Module {
    let file = file(stem, device.properties().compute_capability);
    load(&file, device).unwrap()
}

/// Rounds on a GPU, where errors depend on timing; fewer on the emulator, where they do not.
fn rounds(device: &Device, on_gpu: u32) -> u32 {
    match device.properties().kind {
        DeviceKind::Cuda => on_gpu,
        _ => on_gpu.min(20),
    }
}
