//! Launches from a module, by name and by an entry with a signature.

use crate::common::{STEP, THROUGH_SHARED, devices, load, through_shared};
use blockwise::{Argument, Buffer, Device, Error, Module, Result, Shape, Stream};
use cuda_std::launch::{Entry, Function, Target, Write};

fn launched(device: &Device, kernel: &str, shape: Shape, offset: u32) -> Result<Vec<f32>> {
    let module = load(device, THROUGH_SHARED)?;
    let mut out = device.filled(shape.grid.x as usize, 0xFF)?;
    through_shared(&module, kernel, shape, &mut out, offset, 1.5)?;
    out.to_vec()
}

#[test]
fn a_kernel_gets_its_grid_its_arguments_and_its_shared_memory() {
    for device in devices() {
        let shape = Shape::new(5, 64).shared(64);
        let out = launched(&device, "through_shared", shape, 60).expect("a good launch");
        assert_eq!(out, [1.5; 5], "{device:?}");
    }
}

#[test]
fn shared_memory_above_48_kib_is_opted_into() {
    for device in devices() {
        let most = device.properties().shared_bytes_opt_in;
        assert!(most > 48 * 1024, "{device:?}");
        let shape = Shape::new(2, 64).shared(most);
        let out = launched(&device, "through_shared", shape, most - 4).expect("a good launch");
        assert_eq!(out, [1.5; 2], "{device:?}");
    }
}

#[test]
fn a_shape_over_the_limits_is_an_error_that_names_it_and_the_next_launch_works() {
    for device in devices() {
        let most = device.properties().shared_bytes_opt_in;
        let refused = |shape: Shape, what: &str| {
            let error = launched(&device, "through_shared", shape, 0).expect_err("no such shape");
            assert!(matches!(error, Error::Shape { .. }), "{error}");
            assert!(error.to_string().contains(what), "{error}");
        };
        refused(Shape::new(1, 64).shared(most + 1), "shared memory");
        refused(Shape::new(1, 64).shared(u32::MAX), "shared memory");
        refused(Shape::new(0, 64), "no blocks");
        refused(Shape::new(1, (64, 0)), "no threads");
        refused(Shape::new(1, (32, 33)), "1024 threads");
        refused(Shape::new(1, (1, 1, 65)), "1024 x 1024 x 64");
        refused(Shape::new((1, 1 << 16), 1), "larger than the device's");
        let shape = Shape::new(1, 64).shared(64);
        let out = launched(&device, "through_shared", shape, 0).expect("a good launch");
        assert_eq!(out, [1.5]);
    }
}

#[test]
fn no_emulator_has_larger_blocks_than_kernels_count_on() {
    let limits = blockwise::EmulatorLimits {
        threads_per_block: 4096,
        block_dims: [4096; 3],
        ..blockwise::EmulatorLimits::default()
    };
    let device = Device::emulator_with(limits, blockwise::Watch::Nothing);
    let error = launched(&device, "through_shared", Shape::new(1, 1025).shared(64), 1)
        .expect_err("a larger block than any GPU's");
    assert!(error.to_string().contains("1024 threads"), "{error}");
}

#[test]
fn a_kernel_that_is_not_there_is_told_by_name() {
    for device in devices() {
        for name in ["absent", "nul\0"] {
            let shape = Shape::new(1, 64).shared(64);
            let error = launched(&device, name, shape, 0).expect_err("no such kernel");
            let expected = format!("a test's PTX has no kernel `{name}`");
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn ptx_that_does_not_assemble_is_refused_with_the_line() {
    let broken = THROUGH_SHARED.replace("add.u32 %r5", "add.u32 , %r5");
    for device in devices() {
        let message = load(&device, &broken)
            .expect_err("a misplaced comma")
            .to_string();
        assert!(
            message.contains("rejects a test's PTX") && message.contains("line 17"),
            "{message}"
        );
    }
    let error = load(&Device::emulator(), "hello").expect_err("no PTX");
    assert!(error.to_string().contains("PTX line 1: "), "{error}");
}

#[test]
fn a_module_outlives_its_device() {
    for device in devices() {
        let module = load(&device, THROUGH_SHARED).expect("good PTX");
        let mut out = device.zeros(1).expect("memory");
        drop(device);
        let shape = Shape::new(1, 64).shared(64);
        through_shared(&module, "through_shared", shape, &mut out, 0, 2.5).expect("a good launch");
        assert_eq!(out.to_vec().expect("a copy"), [2.5]);
    }
}

#[test]
fn buffers_and_streams_of_another_device_are_refused_at_the_launch() {
    let (device, other) = (Device::emulator(), Device::emulator());
    let module = load(&device, THROUGH_SHARED).expect("good PTX");
    let mut out = other.zeros(1).expect("memory");
    let shape = Shape::new(1, 64).shared(64);
    let error = through_shared(&module, "through_shared", shape, &mut out, 0, 0.0);
    let error = error.expect_err("a foreign buffer");
    assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");

    let module = load(&device, STEP).expect("good PTX");
    let mut data = device.upload(&[1_u32]).expect("memory");
    let stream = other.stream().expect("a stream");
    let error = step(&module, Some(&stream), &mut data, 1).expect_err("a foreign stream");
    assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");
}

/// An entry of [`STEP`] as `#[kernel]` would write it for `fn step(data: &mut [u32], rounds: u32)`.
static STEP_ENTRY: Entry = Entry {
    name: "step",
    signature: "data: &mut [u32], rounds: u32",
    record: "data: &mut [u32], rounds: u32\ntype rounds 4/4",
    place: "src/lib.rs:7",
    block: [0; 3],
    parameter_bytes: &[8, 8, 4],
    kernels: None,
};

fn step(
    target: &Module,
    stream: Option<&Stream>,
    data: &mut Buffer<u32>,
    rounds: u32,
) -> Result<()> {
    let memory = Write::<[u32]>::pass(data);
    let arguments = [
        Argument::new(&memory.address),
        Argument::new(&memory.len),
        Argument::new(&rounds),
    ];
    let function = target.function(&STEP_ENTRY)?;
    // SAFETY: the arguments are the kernel's parameters, and the kernel stays inside the slice.
    unsafe { function.launch(stream, Shape::new(16, 128), &arguments, &[memory]) }
}

/// What `rounds` rounds make of a value.
fn stepped(value: u32, rounds: u32) -> u32 {
    (0..rounds).fold(value, |value, _| value.wrapping_mul(3).wrapping_add(1))
}

/// The PTX of [`STEP`] with a record of this signature.
fn recorded(signature: &str) -> String {
    let bytes: Vec<_> = signature.bytes().map(|byte| byte.to_string()).collect();
    let (len, bytes) = (bytes.len(), bytes.join(", "));
    let record = format!(".visible .global .align 1 .b8 step__signature[{len}] = {{{bytes}}};");
    STEP.replace(".visible .entry", &format!("{record}\n.visible .entry"))
}

#[test]
fn a_signature_of_another_build_is_refused_when_the_kernel_is_looked_up() {
    for device in devices() {
        let right = load(&device, &recorded(STEP_ENTRY.record)).expect("good PTX");
        assert!(right.function(&STEP_ENTRY).is_ok());
        for (signature, what) in [
            ("data: &mut [i32], rounds: u32", "`data: &mut [i32]` there"),
            ("rounds: u32, data: &mut [u32]", "parameter 1"),
            ("data: &mut [u32], rounds: u32, more: u32", "3 parameters"),
        ] {
            let module = load(&device, &recorded(signature)).expect("it assembles");
            let error = module.function(&STEP_ENTRY).expect_err("another signature");
            let message = error.to_string();
            assert!(
                message.contains("`step`") && message.contains(what),
                "{message}"
            );
            assert!(error.hint().is_some());
        }
        let other = STEP_ENTRY.record.replace("4/4", "8/8");
        let module = load(&device, &recorded(&other)).expect("it assembles");
        let error = module.function(&STEP_ENTRY).expect_err("another contract");
        let text = error.to_string();
        let expected =
            "the type of `rounds` has 8 bytes aligned to 8 there and 4 bytes aligned to 4 here";
        assert!(
            text.starts_with("kernel `step` (src/lib.rs:7)") && text.ends_with(expected),
            "{text}"
        );
        assert!(error.hint().is_some());
        // Foreign PTX has no records: number and sizes of the parameters are compared.
        let wider = STEP.replace(".param .u32 rounds", ".param .u64 rounds");
        let module = load(&device, &wider).expect("it assembles");
        let error = module.function(&STEP_ENTRY).expect_err("another size");
        assert!(error.to_string().contains("8, 8, 8 bytes"), "{error}");
    }
}

#[test]
fn two_streams_on_one_buffer_come_one_after_the_other() {
    for device in devices() {
        let rounds = match device.properties().kind {
            blockwise::DeviceKind::Cuda => 10_000,
            blockwise::DeviceKind::Emulator => 50,
        };
        let module = load(&device, STEP).expect("good PTX");
        let streams = [device.stream(), device.stream()].map(|stream| stream.expect("a stream"));
        let mut data = device.upload(&[1_u32; 2000]).expect("memory");
        let mut expected = 1;
        for round in 0..rounds {
            // A long one, then a short one on another stream: unordered, the short one would
            // overtake it.
            let of = round as usize % 2;
            step(&module, Some(&streams[of]), &mut data, 200).expect("a launch");
            step(&module, Some(&streams[1 - of]), &mut data, 1).expect("a launch");
            step(&module, None, &mut data, 1).expect("a launch");
            expected = stepped(expected, 202);
        }
        let result = data.to_vec().expect("a copy");
        assert!(result.iter().all(|&value| value == expected), "{device:?}");
    }
}

#[test]
fn a_stream_that_is_gone_has_still_used_its_buffers() {
    for device in devices() {
        let module = load(&device, STEP).expect("good PTX");
        let mut data = device.upload(&[1_u32; 2000]).expect("memory");
        for _ in 0..20 {
            let stream = device.stream().expect("a stream");
            step(&module, Some(&stream), &mut data, 1000).expect("a launch");
        }
        step(&module, None, &mut data, 1).expect("a launch");
        let result = data.to_vec().expect("a copy");
        assert!(result.iter().all(|&value| value == stepped(1, 20_001)));
    }
}

#[test]
fn a_graph_replays_launches_and_fills_in_their_order() {
    for device in devices() {
        let module = load(&device, STEP).expect("good PTX");
        let mut data = device.upload(&[9_u32; 2000]).expect("memory");
        let graph = device
            .graph(|stream| {
                data.fill_bytes_on(Some(stream), 0)?;
                step(&module, Some(stream), &mut data, 2)?;
                step(&module, Some(stream), &mut data, 3)
            })
            .expect("a recording");
        // Nothing has run yet.
        assert_eq!(data.to_vec().expect("a copy"), [9; 2000]);
        let stream = device.stream().expect("a stream");
        for _ in 0..3 {
            graph.launch().expect("a replay");
            assert_eq!(data.to_vec().expect("a copy"), [stepped(0, 5); 2000]);
            graph.launch_on(&stream).expect("a replay");
            step(&module, None, &mut data, 1).expect("a launch");
            assert_eq!(data.to_vec().expect("a copy"), [stepped(0, 6); 2000]);
        }
        // The graph keeps the memory.
        drop(data);
        graph.launch().expect("a replay");
        device.synchronize().expect("it ends well");
    }
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let device = Device::emulator();
    let error = device
        .graph(|stream| stream.synchronize())
        .expect_err("nothing to wait for");
    assert!(matches!(error, Error::NotRecordable { .. }), "{error}");
    let error = device
        .graph(|stream| blockwise::StagedBuffer::<u32>::new(stream, 1).map(drop))
        .expect_err("a staged buffer on a recorded stream");
    assert!(
        error.to_string().contains("only launches and fills"),
        "{error}"
    );
}

#[test]
fn a_suggested_block_can_be_launched() {
    for device in devices() {
        let module = load(&device, STEP).expect("good PTX");
        let function = module.function(&STEP_ENTRY).expect("it is there");
        let threads = function.suggested_block(0).expect("an answer");
        let most = device.properties().max_threads_per_block;
        assert!(
            threads.is_multiple_of(32) && (32..=most).contains(&threads),
            "{threads}"
        );
    }
}
