//! The kernel on the emulator, under all its detectors, and on the GPU if there is one.

use blockwise::Device;
use my_project::kernels::{self, BLOCK};

/// The same, computed in the simplest way.
fn reference(x: &[f32]) -> Vec<f32> {
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    (0..x.len())
        .map(|i| (at(i.wrapping_sub(1)) + at(i) + at(i + 1)) / 3.0)
        .collect()
}

#[track_caller]
fn check(device: &Device) {
    for len in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 1009] {
        let x: Vec<f32> = (0..len).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
        match kernels::smoothed(device, &x) {
            Ok(y) => assert_eq!(y, reference(&x), "{len} elements"),
            Err(error) => panic!("{} elements: {}", len, error),
        }
    }
}

/// A panic fails this test; in an `unsafe` kernel, so does a race, a missing barrier, an
/// out-of-bounds access or a use of an uninitialised value.
#[test]
fn smooth_is_right_and_clean() {
    check(&Device::checked());
}

#[test]
fn smooth_is_right_on_this_machine() {
    check(&Device::any().unwrap());
}
