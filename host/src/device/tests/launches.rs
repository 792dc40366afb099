//! PTX written by hand, on the emulator and, where there is one, on the GPU.

use super::*;

/// Thread 0 of each block stores `value` at byte `offset` of the dynamic shared array and copies it from there to
/// `out[block]`.
const THROUGH_SHARED: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 slots[];
.visible .entry through_shared(.param .u64 out, .param .u32 offset, .param .f32 value) {
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r2, [offset];
    ld.param.b32 %r3, [value];
    mov.u32 %r4, slots;
    add.u32 %r5, %r4, %r2;
    st.shared.b32 [%r5], %r3;
    ld.shared.b32 %r3, [%r5];
    mov.u32 %r6, %ctaid.x;
    mul.wide.u32 %rd2, %r6, 4;
    cvta.to.global.u64 %rd3, %rd1;
    add.u64 %rd4, %rd3, %rd2;
    st.global.b32 [%rd4], %r3;
DONE:
    ret;
}
";

/// The emulator and, if there is one, the GPU.
fn devices() -> Vec<Device> {
    let mut devices = vec![emulator()];
    match Device::connect(DeviceChoice::Gpu) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => eprintln!("skipped on the GPU: {error}"),
    }
    devices
}

fn plan(kernel: &str, blocks: u32, dynamic_shared_bytes: u32) -> LaunchPlan {
    LaunchPlan {
        kernel: kernel.into(),
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes,
    }
}

fn through_shared(
    device: &Device,
    plan: &LaunchPlan,
    offset: u32,
) -> Result<Vec<f32>, DeviceError> {
    let module = device.load_ptx(THROUGH_SHARED, "a test's PTX")?;
    let mut out = DeviceBuffer::<f32>::alloc(device, plan.grid[0] as usize)?;
    out.poison()?;
    let arguments = Arguments::new()
        .pointer(&mut out)
        .value(offset)
        .value(1.5_f32);
    // SAFETY: these are the kernel's parameters; it writes one element per block, and only inside the shared array.
    unsafe { module.launch(plan, &arguments)? };
    device.synchronize()?;
    out.copy_to_vec()
}

#[test]
fn a_kernel_gets_its_grid_its_arguments_and_its_shared_memory() {
    for device in devices() {
        let out =
            through_shared(&device, &plan("through_shared", 5, 64), 60).expect("a good launch");
        assert_eq!(out, [1.5; 5], "{device:?}");
    }
}

#[test]
fn shared_memory_above_48_kib_is_opted_into() {
    for device in devices() {
        let most = device.properties().shared_bytes_opt_in;
        assert!(most > 48 * 1024, "{device:?}");
        let out = through_shared(&device, &plan("through_shared", 2, most), most - 4)
            .expect("a good launch");
        assert_eq!(out, [1.5; 2], "{device:?}");
    }
}

#[test]
fn a_launch_over_the_limits_is_an_error_and_the_next_one_works() {
    for device in devices() {
        let most = device.properties().shared_bytes_opt_in;
        through_shared(&device, &plan("through_shared", 1, most + 1), 0)
            .expect_err("too much shared memory");
        through_shared(&device, &plan("through_shared", 1, u32::MAX), 0)
            .expect_err("too much shared memory");
        through_shared(&device, &plan("through_shared", 0, 64), 0).expect_err("no blocks");
        assert_eq!(
            through_shared(&device, &plan("through_shared", 1, 64), 0).expect("a good launch"),
            [1.5]
        );
    }
}

#[test]
fn a_kernel_that_is_not_there_is_told_by_name() {
    for device in devices() {
        for name in ["absent", "nul\0"] {
            let error = through_shared(&device, &plan(name, 1, 64), 0).expect_err("no such kernel");
            assert_eq!(
                error.to_string(),
                format!("a test's PTX has no kernel `{name}`")
            );
        }
    }
}

#[test]
fn ptx_that_does_not_assemble_is_refused_with_the_line() {
    let broken = THROUGH_SHARED.replace("add.u32 %r5", "frobnicate.u32 %r5");
    for device in devices() {
        let error = device
            .load_ptx(&broken, "a test's PTX")
            .expect_err("no such instruction");
        let message = error.to_string();
        assert!(
            message.contains("rejects a test's PTX") && message.contains("line 17"),
            "{message}"
        );
    }
}

#[test]
fn a_module_outlives_its_device() {
    for device in devices() {
        let module = device
            .load_ptx(THROUGH_SHARED, "a test's PTX")
            .expect("good PTX");
        let mut out = DeviceBuffer::<f32>::alloc(&device, 1).expect("memory");
        drop(device);
        let arguments = Arguments::new()
            .pointer(&mut out)
            .value(0_u32)
            .value(2.5_f32);
        // SAFETY: as in `through_shared`.
        unsafe {
            module
                .launch(&plan("through_shared", 1, 64), &arguments)
                .expect("a good launch")
        };
        assert_eq!(out.copy_to_vec().expect("a copy"), [2.5]);
    }
}

#[test]
fn buffers_of_another_device_are_refused_at_the_launch() {
    let (device, other) = (emulator(), emulator());
    let module = device
        .load_ptx(THROUGH_SHARED, "a test's PTX")
        .expect("good PTX");
    let mut out = DeviceBuffer::<f32>::alloc(&other, 1).expect("memory");
    let arguments = Arguments::new()
        .pointer(&mut out)
        .value(0_u32)
        .value(0.0_f32);
    // SAFETY: the launch is refused.
    let error = unsafe { module.launch(&plan("through_shared", 1, 64), &arguments) }
        .expect_err("a foreign buffer");
    assert!(matches!(error, DeviceError::ForeignBuffer { .. }));
}
