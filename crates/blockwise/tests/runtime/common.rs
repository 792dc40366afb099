//! PTX written by hand, and the available devices.

use blockwise::{Argument, Buffer, Device, Module, Result, Shape};
use cuda_std::launch::Write;

/// Thread 0 of each block stores `value` at byte `offset` of the dynamic shared array and copies it
/// from there to `out[block]`.
pub(crate) const THROUGH_SHARED: &str = "
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

/// `data[i] = data[i] * 3 + 1` for i below `len`, `rounds` times.
pub(crate) const STEP: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 data, .param .u64 len, .param .u32 rounds) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [len];
    ld.param.u32 %r5, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r4;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd4, %rd1;
    mad.wide.u32 %rd5, %r4, 4, %rd4;
    ld.global.u32 %r6, [%rd5];
AGAIN:
    mad.lo.u32 %r6, %r6, 3, 1;
    sub.u32 %r5, %r5, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra AGAIN;
    st.global.u32 [%rd5], %r6;
DONE:
    ret;
}
";

/// The emulator and, if there is one, the GPU.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = vec![Device::emulator()];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => eprintln!("SKIPPED on a GPU: {error}"),
    }
    devices
}

pub(crate) fn load(device: &Device, text: &str) -> Result<Module> {
    // SAFETY: what is launched from it are the kernels above, with their parameters.
    unsafe { device.load_ptx(text, "a test's PTX") }
}

/// Launches `kernel` as `through_shared`.
pub(crate) fn through_shared(
    module: &Module,
    kernel: &str,
    shape: Shape,
    out: &mut Buffer<f32>,
    offset: u32,
    value: f32,
) -> Result<()> {
    let memory = Write::<[f32]>::pass(out);
    let arguments = [
        Argument::new(&memory.address),
        Argument::new(&offset),
        Argument::new(&value),
    ];
    // SAFETY: these are the kernel's parameters; it writes one element per block, and only inside
    // the shared array.
    unsafe { module.launch(None, kernel, shape, &arguments, &[memory]) }
}
