//! What can go wrong with a device.

use std::path::PathBuf;

use libcuda_loader::Failure;

/// Why a device could not do what it was asked. [`hint`](Self::hint) says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A GPU was asked for and cannot be used.
    #[error("no CUDA GPU can be used: {reason}")]
    NoGpu {
        /// Why not.
        reason: String,
    },
    /// A call of the CUDA driver failed.
    #[error("{doing}: {failure}")]
    Driver {
        /// What the call was for.
        doing: String,
        /// The call and its code.
        failure: Failure,
    },
    /// A kernel panicked. The device can be used further; what the launch wrote before stays written.
    #[error(
        "kernel `{kernel}` panicked at {file}:{line}, block ({}), thread ({}): {message}",
        index(.block), index(.thread)
    )]
    Panicked {
        /// The kernel. Several, when several of one module were started since the last synchronisation on a GPU.
        kernel: String,
        /// The panic's message.
        message: String,
        /// The Rust source file.
        file: String,
        /// Its line.
        line: u32,
        /// The block's index in the grid.
        block: [u32; 3],
        /// The thread's index in the block: the first one that panicked.
        thread: [u32; 3],
    },
    /// A kernel went wrong before in a way that CUDA does not let the process survive.
    #[error("the GPU's context is lost, and no other can be made in this process: {cause}")]
    ContextLost {
        /// The first error.
        cause: String,
    },
    /// The device has not enough memory left.
    #[error("{device} has no room for {bytes} more bytes")]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// The bytes asked for.
        bytes: u64,
    },
    /// The emulator's threads have less stack than was asked for.
    #[error(
        "a stack of {bytes} bytes is more than the emulator's threads have: {limit} bytes (EmulatorLimits::local_bytes_per_thread)"
    )]
    StackTooLarge {
        /// The bytes asked for.
        bytes: usize,
        /// What they have.
        limit: usize,
    },
    /// The host has not enough memory for what comes back from the device.
    #[error("the host has no room for {bytes} bytes")]
    OutOfHostMemory {
        /// The bytes needed.
        bytes: u64,
    },
    /// A number of elements whose size in bytes does not fit in 64 bits.
    #[error("{len} elements of {element_bytes} bytes are more than any device can hold")]
    TooLarge {
        /// The number of elements.
        len: usize,
        /// The size of one.
        element_bytes: usize,
    },
    /// A slice and a buffer that should be of one length are not.
    #[error("a buffer of {buffer} elements cannot take {given}")]
    LengthMismatch {
        /// The buffer's length.
        buffer: usize,
        /// The slice's length.
        given: usize,
    },
    /// A buffer of another device was passed to a launch or a copy.
    #[error("an argument of {what} lives on another device")]
    ForeignBuffer {
        /// The kernel to launch, or the copy.
        what: String,
    },
    /// A time was asked for between events of different kinds of device.
    #[error("the two events come from different devices")]
    ForeignEvent,
    /// A typed launcher was called on a device without kernels.
    #[error("no kernels are loaded into this device")]
    NoKernels,
    /// No folder holds any PTX.
    #[error("no {stem}.sm_XX.ptx found; looked in {}", list(.folders))]
    PtxNotFound {
        /// The name before `.sm_XX.ptx`.
        stem: String,
        /// Every folder that was looked into.
        folders: Vec<PathBuf>,
    },
    /// There is PTX, but only for newer devices.
    #[error(
        "{} is for sm_{target} and newer, but this device is sm_{}{}",
        .path.display(), .compute_capability.0, .compute_capability.1
    )]
    PtxTooNew {
        /// The file for the oldest device.
        path: PathBuf,
        /// The architecture that it is for, such as 80.
        target: u32,
        /// The device's.
        compute_capability: (u32, u32),
    },
    /// A PTX file or folder cannot be read.
    #[error("cannot read {}", .path.display())]
    PtxUnreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is not PTX.
    #[error("{origin} is not PTX: {problem}")]
    NotPtx {
        /// The file.
        origin: String,
        /// What is missing or wrong.
        problem: &'static str,
    },
    /// The driver or the emulator does not accept the PTX.
    #[error("{device} rejects {origin}: {reason}")]
    PtxRejected {
        /// The device's name.
        device: String,
        /// Where the PTX comes from.
        origin: String,
        /// Its answer, with the compiler's log where there is one.
        reason: String,
        /// The driver's code, if it was a driver.
        failure: Option<Failure>,
    },
    /// The module has no kernel of that name.
    #[error("{origin} has no kernel `{kernel}`")]
    UnknownKernel {
        /// The name asked for.
        kernel: String,
        /// Where the PTX comes from.
        origin: String,
    },
    /// The emulator refused an access from the host.
    #[error("emulator: {0}")]
    EmulatorMemory(#[from] ptx_emulator::MemoryError),
    /// The emulator refused a launch, or the kernel went wrong in it.
    #[error("emulator: {0}")]
    EmulatorLaunch(#[from] ptx_emulator::LaunchError),
}

impl DeviceError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGpu { .. } => {
                Some("use --device emulator, or install or update the NVIDIA driver")
            }
            Self::PtxNotFound { .. } => {
                Some("run `cargo xtask build-ptx`, or set BLOCKWISE_PTX_DIR")
            }
            Self::PtxUnreadable { .. } => Some("check the path"),
            Self::PtxTooNew { .. } => {
                Some("build for this device: `cargo xtask build-ptx --arch sm_XX`")
            }
            Self::NotPtx { .. } => Some(
                "name a file of PTX text, as `rustc`, `nvcc --ptx` or `cargo xtask build-ptx` write it",
            ),
            Self::UnknownKernel { .. } => Some("build it again: `cargo xtask build-ptx`"),
            Self::OutOfMemory { .. } => Some("use smaller input"),
            Self::ContextLost { .. } => {
                Some("start the program again; --device emulator shows the line that went wrong")
            }
            Self::PtxRejected {
                failure: Some(failure),
                ..
            }
            | Self::Driver { failure, .. } => driver_hint(failure.code),
            _ => None,
        }
    }
}

/// Whether a driver's code means that this process cannot use the GPU any more.
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

fn index(index: &[u32; 3]) -> String {
    let [x, y, z] = index;
    format!("{x}, {y}, {z}")
}

fn driver_hint(code: u32) -> Option<&'static str> {
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

fn list(folders: &[PathBuf]) -> String {
    let folders: Vec<_> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    folders.join(", ")
}
