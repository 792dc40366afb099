//! The meaning of the driver's error codes.

/// Whether a driver code means that this process can no longer use the GPU.
pub(super) fn loses_context(code: u32) -> bool {
    use cust_raw::CUresult::*;
    [
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
    ]
    .iter()
    .any(|&lost| code == lost as u32)
}

/// What to do about a code, in one line.
pub(crate) fn hint(code: u32) -> Option<&'static str> {
    use cust_raw::CUresult::*;
    let is = |result: cust_raw::CUresult| code == result as u32;
    if is(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
        Some("the PTX is newer than the driver: update the driver")
    } else if is(CUDA_ERROR_NOT_FOUND) {
        Some("the driver may be too old: update it")
    } else if is(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) {
        Some("the kernel needs too many registers for so many threads: use smaller blocks")
    } else if loses_context(code) {
        Some(
            "the kernel failed on the GPU and ended its context; --device emulator shows the line, or that there is none: then deep calls need a larger stack (Device::set_stack_bytes)",
        )
    } else {
        None
    }
}
