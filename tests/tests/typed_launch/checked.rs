//! `Device::checked()`: a launch fails with what the detectors find, and names the Rust lines.

use blockwise::{Device, Error, StagedBuffer};
use broken_kernels::THREADS;
use broken_kernels::reverse_missing_barrier::reverse_missing_barrier;
use broken_kernels::sum_unwritten_partials::sum_unwritten_partials;
use device_api::{axpy, stamped};

use super::kernels_of;

/// Where `statement` is in a broken kernel's source, as messages print it: `file:line:`.
fn place(kernel: &str, statement: &str) -> String {
    let name = format!("broken_kernels/src/{kernel}.rs");
    let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let line = source.lines().position(|line| line.contains(statement));
    format!("{name}:{}:", 1 + line.expect(statement))
}

#[track_caller]
fn finding(result: blockwise::Result<()>, parts: &[&str]) {
    let error = result.expect_err("a finding");
    assert!(matches!(error, Error::Findings { .. }), "{error:?}");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

#[test]
fn a_race_is_an_error_with_both_lines() {
    let device = Device::checked();
    let module = kernels_of("broken_kernels", &device);
    let input = device.upload(&(0..1000).collect::<Vec<u32>>()).unwrap();
    let mut output = device.filled::<u32>(1000, 0xFF).unwrap();
    let kernel = reverse_missing_barrier::on(&module).unwrap();
    let kernel = kernel.grid(1000_u32.div_ceil(THREADS)).block(THREADS);
    // SAFETY: the emulator checks every access.
    let result = unsafe { kernel.launch(&input, &mut output) };
    let name = "reverse_missing_barrier";
    let write = place(name, "tile.add(thread).write(");
    let read = place(name, "tile.add(count - 1 - thread).read()");
    finding(result, &[name, "race", &write, &read]);
    // The device is still usable.
    let api = kernels_of("device_api", &device);
    let kernel = stamped::<u32>::on(&api).unwrap().covering(1000).unwrap();
    kernel.launch(7, &mut output).unwrap();
    assert_eq!(output.to_vec().unwrap(), [7; 1000]);
}

#[test]
fn a_read_of_what_nobody_wrote_is_an_error() {
    let device = Device::checked();
    let module = kernels_of("broken_kernels", &device);
    let input = device.upload(&[1.0_f32; 20]).unwrap();
    // SAFETY: the emulator reports every read of it.
    let mut partials = unsafe { device.alloc::<f32>(32) }.unwrap();
    let kernel = sum_unwritten_partials::on(&module)
        .unwrap()
        .grid(1)
        .block(32);
    // SAFETY: the emulator checks every access.
    let result = unsafe { kernel.launch(&input, &mut partials) };
    finding(
        result,
        &[
            "sum_unwritten_partials",
            &place("sum_unwritten_partials", "partials.add(lane).read()"),
        ],
    );
}

/// Reused memory still holds an earlier buffer's contents, but counts as uninitialised. Every safe
/// way to allocate initialises the memory.
#[test]
fn memory_that_was_freed_counts_as_unwritten() {
    let device = Device::checked();
    let module = kernels_of("device_api", &device);
    let kernel = axpy::<f32>::on(&module).unwrap().covering(100).unwrap();
    for _ in 0..3 {
        drop(device.upload(&[2.0_f32; 100]).unwrap());
        // SAFETY: the emulator reports every read of it.
        let x = unsafe { device.alloc::<f32>(100) }.unwrap();
        let mut y = device.zeros::<f32>(100).unwrap();
        finding(kernel.launch(1.0, &x, &mut y), &["axpy_f32", "typed.rs:"]);
        drop(x);
        let mut staged = StagedBuffer::<f32>::new(&device.own_stream(), 100).unwrap();
        for x in [
            &device.zeros(100).unwrap(),
            &device.filled(100, 0).unwrap(),
            &device.upload(&[0.0; 100]).unwrap(),
            staged.device(),
        ] {
            let mut y = device.zeros::<f32>(100).unwrap();
            kernel.launch(1.0, x, &mut y).unwrap();
            assert_eq!(y.to_vec().unwrap(), [0.0; 100]);
        }
        kernel
            .launch(1.0, &device.zeros(100).unwrap(), staged.device_mut())
            .unwrap();
    }
}

/// Which memory is initialised is tracked across launches and copies.
#[test]
fn good_launches_pass_and_a_forgotten_upload_does_not() {
    let device = Device::checked();
    let module = kernels_of("device_api", &device);
    // SAFETY: the emulator reports every read of it.
    let mut x = unsafe { device.alloc::<f32>(100) }.unwrap();
    let mut y = device.upload(&[1.0_f32; 100]).unwrap();
    let kernel = axpy::<f32>::on(&module).unwrap().covering(100).unwrap();
    finding(kernel.launch(2.0, &x, &mut y), &["axpy_f32", "typed.rs:"]);
    x.copy_from_slice(&[3.0; 100]).unwrap();
    y.copy_from_slice(&[1.0; 100]).unwrap();
    kernel.launch(2.0, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [7.0; 100]);
}
