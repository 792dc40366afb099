//! Memory and streams of another device: refused before anything starts.

use blockwise::{Device, Error};
use blockwise_tests::devices::devices;
use device_api::axpy;

use super::kernels_of;

/// Pairs of devices: the emulator and another emulator, GPUs and the emulator, two GPUs.
fn pairs() -> Vec<(Device, Device)> {
    let mut pairs: Vec<_> = devices()
        .iter()
        .map(|device| (device.clone(), Device::emulator()))
        .collect();
    let turned: Vec<_> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
    pairs.extend(turned);
    if Device::gpu_count() > 1 {
        pairs.push((Device::gpu(0).unwrap(), Device::gpu(1).unwrap()));
    }
    pairs
}

#[track_caller]
fn refused(result: blockwise::Result<()>) {
    let error = result.expect_err("another device's");
    assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");
    assert!(error.to_string().contains("axpy_f32"), "{error}");
}

#[test]
fn inputs_outputs_and_streams_of_another_device_are_refused() {
    for (here, there) in pairs() {
        let module = kernels_of("device_api", &here);
        let x = here.upload(&[1.0_f32; 4]).unwrap();
        let mut y = here.upload(&[2.0_f32; 4]).unwrap();
        let other_x = there.upload(&[3.0_f32; 4]).unwrap();
        let mut other_y = there.upload(&[4.0_f32; 4]).unwrap();
        let stream = there.stream().unwrap();
        let kernel = axpy::<f32>::on(&module).unwrap().grid(1).block(32);
        refused(kernel.launch(1.0, &other_x, &mut y));
        refused(kernel.launch(1.0, &x, &mut other_y));
        refused(kernel.launch(1.0, x.view(..3), other_y.view_mut(1..)));
        let on_stream = axpy::<f32>::on(&module).unwrap().grid(1).block(32);
        refused(on_stream.stream(&stream).launch(1.0, &x, &mut y));
        assert_eq!(y.to_vec().unwrap(), [2.0; 4]);
        assert_eq!(other_y.to_vec().unwrap(), [4.0; 4]);
        kernel.launch(1.0, &x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [3.0; 4]);
    }
}

/// A clone is the same device.
#[test]
fn a_clone_shares_its_buffers() {
    for device in devices() {
        let clone = device.clone();
        let module = kernels_of("device_api", device);
        let x = clone.upload(&[1.0_f32; 4]).unwrap();
        let mut y = device.upload(&[2.0_f32; 4]).unwrap();
        let kernel = axpy::<f32>::on(&module).unwrap().grid(1).block(32);
        kernel.launch(1.0, &x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [3.0; 4]);
        assert!(clone.is(device) && !clone.is(&Device::emulator()));
    }
}
