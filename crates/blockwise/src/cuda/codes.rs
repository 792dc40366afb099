//! The meaning of the driver's error codes: whether the context survives, and what to do.

use cust_raw::CUresult;
use libcuda_loader::{Absence, Failure};

/// Codes that the driver has and `cust_raw` does not name.
const DEVICE_UNAVAILABLE: u32 = 46;
const CONTAINED: u32 = 226;
const MPS_CLIENT_TERMINATED: u32 = 810;
const UNKNOWN: u32 = 999;

fn is(code: u32, results: &[CUresult]) -> bool {
    results.iter().any(|&result| code == result as u32)
}

/// Whether a driver code means that this process can no longer use the GPU.
pub(super) fn loses_context(code: u32) -> bool {
    use CUresult::*;
    fails_in_kernel(code)
        || is(
            code,
            &[
                CUDA_ERROR_ECC_UNCORRECTABLE,
                CUDA_ERROR_NVLINK_UNCORRECTABLE,
                CUDA_ERROR_LAUNCH_TIMEOUT,
                CUDA_ERROR_CONTEXT_IS_DESTROYED,
            ],
        )
        || [CONTAINED, MPS_CLIENT_TERMINATED, UNKNOWN].contains(&code)
}

/// Whether the kernel's own code is what failed.
fn fails_in_kernel(code: u32) -> bool {
    use CUresult::*;
    is(
        code,
        &[
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_LAUNCH_FAILED,
        ],
    )
}

/// What to do about the code of a failed call, in one line.
pub(crate) fn hint(code: u32) -> Option<&'static str> {
    use CUresult::*;
    Some(if is(code, &[CUDA_ERROR_UNSUPPORTED_PTX_VERSION]) {
        "the PTX is newer than the driver: update the driver (docs/supported.md lists which loads what)"
    } else if is(code, &[CUDA_ERROR_JIT_COMPILER_NOT_FOUND]) {
        "the driver's compiler for PTX, libnvidia-ptxjitcompiler.so.1, is missing beside libcuda.so.1: install all of the driver (in a container NVIDIA_DRIVER_CAPABILITIES has `compute`)"
    } else if is(code, &[CUDA_ERROR_JIT_COMPILATION_DISABLED]) {
        "CUDA_DISABLE_PTX_JIT forbids what compiles PTX: unset it"
    } else if is(code, &[CUDA_ERROR_NO_BINARY_FOR_GPU]) {
        "the PTX is for other GPUs: build it for this one's compute capability, which `blockwise devices` prints, or a lower one"
    } else if is(code, &[CUDA_ERROR_INVALID_IMAGE]) {
        "the driver cannot read it as kernels: the file is damaged, or is newer than the driver: build the PTX again, or update the driver"
    } else if is(code, &[CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_SOURCE]) {
        "the driver's compiler refuses the text: `ptxas` on the PTX names the line; kernels built by `cuda_builder` need the PTX built again, or a newer driver"
    } else if is(code, &[CUDA_ERROR_FILE_NOT_FOUND]) {
        "a file that the driver needs is not there: install all of the driver (in a container NVIDIA_DRIVER_CAPABILITIES has `compute`)"
    } else if is(
        code,
        &[
            CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
            CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
        ],
    ) {
        "one of the driver's own libraries does not load or is of another version: install all of the driver anew, and look for copies of libnvidia-*.so in LD_LIBRARY_PATH"
    } else if is(code, &[CUDA_ERROR_NOT_SUPPORTED]) {
        "this GPU, its virtual machine or its driver cannot do that: `nvidia-smi -q` shows the virtualisation and MIG modes; update the driver, or take another GPU"
    } else if is(code, &[CUDA_ERROR_NOT_FOUND]) {
        "the driver may be too old: update it"
    } else if is(code, &[CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES]) {
        "the kernel needs too many registers for blocks of this size: use smaller blocks"
    } else if is(code, &[CUDA_ERROR_OUT_OF_MEMORY]) {
        "the GPU's memory is full: free buffers, or end other processes (`nvidia-smi` lists them)"
    } else if is(code, &[CUDA_ERROR_LAUNCH_TIMEOUT]) {
        "a GPU with a display ends kernels that run for seconds: split the work, or use a GPU without one"
    } else if is(code, &[CUDA_ERROR_NVLINK_UNCORRECTABLE]) {
        "a link between GPUs failed, not the kernel: `nvidia-smi nvlink -e` counts the errors; reset the GPUs"
    } else if is(code, &[CUDA_ERROR_ECC_UNCORRECTABLE]) || code == CONTAINED {
        "the GPU's memory failed, not the kernel: `nvidia-smi -q -d ECC` counts the errors; reset the GPU"
    } else if is(code, &[CUDA_ERROR_CONTEXT_IS_DESTROYED]) {
        "something else in this process destroyed the GPU's context: start the program again"
    } else if code == MPS_CLIENT_TERMINATED {
        "another client of the MPS server failed and ended this one too: start the program again"
    } else if code == UNKNOWN {
        "the driver is in a bad state, often after the machine was suspended: start the program again, else reload the module `nvidia_uvm` or reboot"
    } else if code == DEVICE_UNAVAILABLE {
        "another process has the GPU for itself: end it (`nvidia-smi` lists it), or set the compute mode to DEFAULT"
    } else if is(code, &[CUDA_ERROR_OPERATING_SYSTEM]) {
        "the system refused the driver: see whether this user may open /dev/nvidia* and whether `nvidia-smi` runs"
    } else if is(
        code,
        &[
            CUDA_ERROR_MPS_CONNECTION_FAILED,
            CUDA_ERROR_MPS_RPC_FAILURE,
            CUDA_ERROR_MPS_SERVER_NOT_READY,
            CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
            CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
        ],
    ) {
        "the MPS server does not answer or is full: see nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY"
    } else if fails_in_kernel(code) {
        "the kernel failed on the GPU and ended its context; the emulator shows the line, or that there is none: then deep calls need a larger stack (Device::set_stack_bytes)"
    } else {
        return None;
    })
}

/// What to do about a call that failed while GPU `ordinal` was opened, in one line. The driver shows
/// `count` GPUs; `hidden` says that CUDA_VISIBLE_DEVICES decides which.
pub(super) fn opening_hint(
    failure: Failure,
    ordinal: usize,
    count: usize,
    hidden: bool,
) -> &'static str {
    use CUresult::*;
    let code = failure.code;
    match failure.absence {
        Some(Absence::NoDriver) => {
            return "install the NVIDIA driver; if it is elsewhere, BLOCKWISE_LIBCUDA names its libcuda.so.1";
        }
        Some(Absence::NoFunction) => {
            return "update the NVIDIA driver, or let BLOCKWISE_LIBCUDA name another libcuda.so.1";
        }
        None => {}
    }
    if is(code, &[CUDA_ERROR_NO_DEVICE, CUDA_ERROR_INVALID_DEVICE]) && hidden {
        "CUDA_VISIBLE_DEVICES decides which GPUs this process sees: unset it, or name others"
    } else if is(code, &[CUDA_ERROR_NO_DEVICE])
        || is(code, &[CUDA_ERROR_INVALID_DEVICE]) && count == 0
    {
        "the driver is there, but no GPU: see whether `nvidia-smi` lists one; a container must be given it (`docker run --gpus all`)"
    } else if is(code, &[CUDA_ERROR_INVALID_DEVICE]) && ordinal >= count {
        "choose one of those"
    } else if is(code, &[CUDA_ERROR_DEVICE_NOT_LICENSED]) {
        "this virtual GPU has no licence: ask whoever runs the licence server"
    } else if is(code, &[CUDA_ERROR_STUB_LIBRARY]) {
        "this library is the toolkit's stub for linking, not a driver: take its folder out of LD_LIBRARY_PATH"
    } else if is(code, &[CUDA_ERROR_SYSTEM_DRIVER_MISMATCH]) {
        "libcuda and the kernel module are of different versions, as after an update: reboot, or reload the module"
    } else if is(code, &[CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE]) {
        "CUDA's compatibility library does not support this GPU: take it out of LD_LIBRARY_PATH, and update the driver instead"
    } else if is(code, &[CUDA_ERROR_SYSTEM_NOT_READY]) {
        "a service of the driver is not ready: start nvidia-fabricmanager (machines with NVSwitch need it)"
    } else if is(code, &[CUDA_ERROR_OUT_OF_MEMORY]) {
        "the GPU has no memory left for a context: end other processes (`nvidia-smi` lists them)"
    } else if is(
        code,
        &[CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED],
    ) {
        "CUDA cannot be used in a process that was forked after its first use: open the device in the child only, or start the child anew"
    } else {
        hint(code)
            .unwrap_or("see whether `nvidia-smi` runs, and what the system's log says of nvidia")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u32) -> Failure {
        Failure {
            call: "cuAny",
            code,
            absence: None,
        }
    }

    #[test]
    fn each_reason_has_advice_of_its_own() {
        let codes = [
            2, 3, 34, 46, 100, 101, 102, 304, 802, 803, 804, 805, 999, 226, 702, 200, 209, 218,
            221, 222, 223, 301, 302, 500, 801,
        ];
        let mut hints: Vec<_> = codes
            .map(|code| opening_hint(of(code), 2, 2, false))
            .to_vec();
        hints.push(opening_hint(of(100), 2, 2, true));
        for absence in [Absence::NoDriver, Absence::NoFunction] {
            let failure = Failure {
                absence: Some(absence),
                ..of(100)
            };
            hints.push(opening_hint(failure, 2, 2, false));
        }
        let count = hints.len();
        hints.sort();
        hints.dedup();
        assert_eq!(hints.len(), count);
    }

    #[test]
    fn faults_of_the_hardware_are_not_the_kernels() {
        for code in [214, 220, 226, 702, 999] {
            assert!(loses_context(code), "{code}");
            let hint = hint(code).expect("advice");
            assert!(!hint.contains("the kernel failed"), "{code}: {hint}");
        }
        for code in [700, 716, 719] {
            let hint = hint(code).expect("advice");
            assert!(loses_context(code) && hint.contains("the kernel failed"));
        }
        for code in [0, 1, 2, 200, 701] {
            assert!(!loses_context(code), "{code}");
        }
    }
}
