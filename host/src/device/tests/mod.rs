//! Both ways to a device without a GPU, and memory on the emulator.

use super::*;

mod launches;

fn emulator() -> Device {
    Device::connect(DeviceChoice::Emulator).expect("the emulator is always there")
}

#[test]
fn the_automatic_choice_always_connects_and_says_why_it_took_the_emulator() {
    let device = Device::connect(DeviceChoice::Auto).expect("there is the emulator at least");
    let is_emulator = device.properties().kind == DeviceKind::Emulator;
    assert_eq!(device.fallback().is_some(), is_emulator);
    if let Some(reason) = device.fallback() {
        assert!(
            !reason.contains('\n') && reason.starts_with("no CUDA GPU can be used: "),
            "{reason}"
        );
        let error = Device::connect(DeviceChoice::Gpu).expect_err("there is no GPU");
        assert_eq!(error.to_string(), reason);
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("--device emulator"))
        );
    }
}

#[test]
fn the_emulator_is_what_was_asked_for_and_has_an_h200s_limits() {
    let device = emulator();
    assert_eq!(device.fallback(), None);
    let properties = device.properties();
    assert_eq!(properties.compute_capability, (9, 0));
    assert_eq!(properties.shared_bytes_per_block, 48 * 1024);
    assert_eq!(properties.shared_bytes_opt_in, 227 * 1024);
    assert_eq!(properties.shared_bytes_per_multiprocessor, 228 * 1024);
    assert_eq!(properties.max_threads_per_block, 1024);
}

#[test]
fn memory_comes_back_as_it_was_sent() {
    let device = emulator();
    let values: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.5).collect();
    let mut buffer = DeviceBuffer::from_slice(&device, &values).expect("memory");
    assert_eq!(buffer.copy_to_vec().expect("a copy"), values);
    buffer.poison().expect("a fill");
    assert!(
        buffer
            .copy_to_vec()
            .expect("a copy")
            .iter()
            .all(|value| value.to_bits() == u64::MAX)
    );
}

#[test]
fn nothing_has_a_buffer_too() {
    let device = emulator();
    let mut buffer = DeviceBuffer::<f32>::from_slice(&device, &[]).expect("no memory at all");
    assert_ne!(buffer.address(), 0);
    buffer.poison().expect("nothing to do");
    assert_eq!(
        buffer.copy_to_vec().expect("nothing to do"),
        Vec::<f32>::new()
    );
}

#[test]
fn too_much_memory_is_an_error() {
    let device = emulator();
    assert!(matches!(
        DeviceBuffer::<f64>::alloc(&device, usize::MAX),
        Err(DeviceError::TooLarge { .. })
    ));
    assert!(matches!(
        DeviceBuffer::<f64>::alloc(&device, isize::MAX as usize / 8),
        Err(DeviceError::OutOfMemory { .. })
    ));
    let small = Device::emulator(EmulatorLimits {
        memory_bytes: 1024,
        ..EmulatorLimits::default()
    });
    let error = DeviceBuffer::<f32>::alloc(&small, 257).expect_err("one element too many");
    assert_eq!(
        error.to_string(),
        "PTX emulator has no room for 1028 more bytes"
    );
}

#[test]
fn a_slice_must_fit_its_buffer() {
    let mut buffer = DeviceBuffer::<i64>::alloc(&emulator(), 3).expect("memory");
    let error = buffer.copy_from_slice(&[1, 2]).expect_err("one is missing");
    assert_eq!(error.to_string(), "a buffer of 3 elements cannot take 2");
}

#[test]
fn kernels_must_be_loaded_first() {
    assert!(matches!(emulator().kernels(), Err(DeviceError::NoKernels)));
}

#[test]
fn text_that_is_no_ptx_is_refused() {
    let error = emulator()
        .load_ptx("hello", "a greeting")
        .expect_err("no PTX");
    assert!(
        error
            .to_string()
            .starts_with("PTX emulator rejects a greeting: PTX line 1: "),
        "{error}"
    );
}
