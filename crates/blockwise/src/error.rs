//! Errors of a device.

use std::fmt;
use std::path::PathBuf;

use launch_contract::launch::Refusal;

/// Why a device could not do what was requested. [`hint`](Self::hint) says what to do about it.
#[non_exhaustive]
pub enum Error {
    /// A GPU was requested and cannot be used.
    NoGpu {
        /// The reason.
        reason: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// A call of the CUDA driver failed.
    Driver {
        /// The purpose of the call.
        doing: String,
        /// The call, and the driver's text for its code.
        failure: String,
        /// The driver's code.
        code: u32,
    },
    /// The program was built without the emulator.
    NoEmulator,
    /// A launch breaks its kernel's contract.
    Refused(Refusal),
    /// A launch's shape exceeds the device's limits.
    Shape {
        /// The kernel's name.
        kernel: String,
        /// The extent that exceeds its limit, and the limit.
        problem: String,
    },
    /// A kernel's signature in the PTX differs from the program's.
    Signature {
        /// The kernel's name.
        kernel: &'static str,
        /// The source of the PTX.
        origin: String,
        /// The signature in the PTX.
        ptx: String,
        /// The signature in the program.
        program: String,
        /// The first parameter that differs.
        difference: String,
    },
    /// A kernel's contract, types or definition differ between the device's build and the host's.
    Contract {
        /// The kernel's name.
        kernel: &'static str,
        /// Where the program has it.
        place: &'static str,
        /// The source of the PTX.
        origin: String,
        /// What differs, with both values.
        difference: String,
    },
    /// An operation that is possible only on a running stream, not on one being recorded.
    NotRecordable {
        /// The operation.
        what: &'static str,
    },
    /// Memory cannot be reinterpreted as elements of another type.
    Cast {
        /// The elements' type.
        from: &'static str,
        /// The requested type.
        to: &'static str,
    },
    /// The elements' alignment exceeds the memory's.
    Alignment {
        /// The elements' type.
        element: &'static str,
        /// Its alignment in bytes.
        needed: usize,
        /// The memory's.
        given: usize,
    },
    /// A checked launch did something that a GPU would hide.
    #[cfg(feature = "emulator")]
    Findings {
        /// The findings.
        report: Box<ptx_emulator::CheckReport>,
        /// The same as text, with source lines.
        text: String,
    },
    /// A kernel panicked. The device stays usable; what the launch wrote before remains.
    Panicked {
        /// The kernel. On a GPU, all kernels of its module started since the last synchronisation.
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
    /// An earlier kernel failed in a way that destroys the process's CUDA context.
    ContextLost {
        /// The first error.
        cause: String,
    },
    /// Another library's work failed after it was enqueued, so that memory is undefined
    /// ([`Device::spoil`](crate::Device::spoil)).
    Spoiled {
        /// The library's words.
        cause: String,
    },
    /// The device lacks memory.
    OutOfMemory {
        /// The device's name.
        device: String,
        /// The bytes requested.
        bytes: u64,
        /// How the memory is used, where the device says so.
        room: Option<Room>,
    },
    /// The emulator's threads have less stack than requested.
    StackTooLarge {
        /// The bytes requested.
        bytes: usize,
        /// The bytes available.
        limit: usize,
    },
    /// The host lacks memory for data from the device.
    OutOfHostMemory {
        /// The bytes needed.
        bytes: u64,
    },
    /// A number of elements whose size in bytes does not fit in 64 bits.
    TooLarge {
        /// The number of elements.
        len: usize,
        /// The size of one.
        element_bytes: usize,
    },
    /// A slice and a buffer should have the same length and do not.
    LengthMismatch {
        /// The buffer's length.
        buffer: usize,
        /// The slice's length.
        given: usize,
    },
    /// A copy would write elements that it reads.
    Overlap,
    /// A buffer of another device was passed to a launch or a copy.
    ForeignBuffer {
        /// The kernel to launch, or the copy.
        what: String,
    },
    /// The numbers are no permutation of 0 to the length − 1.
    NotAPermutation {
        /// The first one at fault, and why.
        problem: String,
    },
    /// The operating system has no random numbers, which the check of a permutation needs.
    NoRandomness {
        /// The system's error.
        reason: String,
    },
    /// Two events of different kinds of device were compared.
    ForeignEvent,
    /// A kernel was launched whose crate embeds no PTX.
    NoKernels {
        /// The kernel or crate.
        what: String,
    },
    /// There is PTX, but none that the device can run.
    NoArchitecture {
        /// The crate's name.
        package: String,
        /// Where PTX was looked for.
        origin: String,
        /// The available architectures, such as `sm_100, sm_100a`.
        architectures: String,
        /// The device's.
        compute_capability: (u32, u32),
    },
    /// A PTX file for newer devices.
    PtxTooNew {
        /// The file's path, or another name for where it is from.
        origin: String,
        /// The architecture that it is for, such as 80.
        target: u32,
        /// The device's.
        compute_capability: (u32, u32),
    },
    /// A PTX file or folder cannot be read.
    PtxUnreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file that is not PTX.
    NotPtx {
        /// The file's path, or another name for where it is from.
        origin: String,
        /// What is missing or wrong.
        problem: &'static str,
    },
    /// The driver or the emulator rejects the PTX.
    PtxRejected {
        /// The device's name.
        device: String,
        /// The source of the PTX.
        origin: String,
        /// The message, with the compiler's log if there is one.
        reason: String,
        /// The driver's code, if it was the driver.
        code: Option<u32>,
    },
    /// The module has no kernel of that name.
    UnknownKernel {
        /// The name requested.
        kernel: String,
        /// The source of the PTX.
        origin: String,
    },
    /// The emulator refused an access from the host.
    #[cfg(feature = "emulator")]
    EmulatorMemory(ptx_emulator::MemoryError),
    /// The emulator refused a launch, or the kernel faulted.
    #[cfg(feature = "emulator")]
    EmulatorLaunch(ptx_emulator::LaunchError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpu { reason, .. } => write!(f, "no CUDA GPU can be used: {reason}"),
            Self::Driver { doing, failure, .. } => write!(f, "{doing}: {failure}"),
            Self::NoEmulator => f.write_str(
                "this program has no emulator: it was built without blockwise's feature `emulator`",
            ),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Shape { kernel, problem } => {
                write!(f, "kernel `{kernel}` cannot be launched: {problem}")
            }
            Self::Signature {
                kernel,
                origin,
                ptx,
                program,
                difference,
            } => write!(
                f,
                "{origin} is not of this program's build: kernel `{kernel}` has ({ptx}) there, but the program was compiled with ({program}): {difference}"
            ),
            Self::Contract {
                kernel,
                place,
                origin,
                difference,
            } => write!(
                f,
                "kernel `{kernel}` ({place}) is not the same in {origin} as in the program: {difference}"
            ),
            Self::NotRecordable { what } => write!(
                f,
                "{what} cannot be recorded into a graph: only launches and fills can"
            ),
            Self::Cast { from, to } => write!(
                f,
                "elements of {from} cannot be read as {to}: the bytes are not a whole number of them, or the address is not aligned"
            ),
            Self::Alignment {
                element,
                needed,
                given,
            } => write!(
                f,
                "memory cannot hold {element}: it is aligned to {needed} bytes, the memory to {given}"
            ),
            #[cfg(feature = "emulator")]
            Self::Findings { report, text } => {
                write!(f, "kernel `{}` is not clean\n{text}", report.kernel)
            }
            Self::Panicked {
                kernel,
                message,
                file,
                line,
                block: [bx, by, bz],
                thread: [tx, ty, tz],
            } => write!(
                f,
                "kernel `{kernel}` panicked at {file}:{line}, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}): {message}"
            ),
            Self::Spoiled { cause } => write!(
                f,
                "memory of the device is undefined, because work in flight has failed: {cause}"
            ),
            Self::ContextLost { cause } => write!(
                f,
                "the GPU's context is lost, and no other can be made in this process: {cause}"
            ),
            Self::OutOfMemory {
                device,
                bytes,
                room,
            } => {
                write!(f, "{device} has no room for {bytes} more bytes")?;
                room.map_or(Ok(()), |room| write!(f, ": {room}"))
            }
            Self::StackTooLarge { bytes, limit } => write!(
                f,
                "a stack of {bytes} bytes is more than the emulator's threads have: {limit} bytes (EmulatorLimits::local_bytes_per_thread)"
            ),
            Self::OutOfHostMemory { bytes } => write!(f, "the host has no room for {bytes} bytes"),
            Self::TooLarge { len, element_bytes } => write!(
                f,
                "{len} elements of {element_bytes} bytes are more than any device can hold"
            ),
            Self::LengthMismatch { buffer, given } => {
                write!(f, "a buffer of {buffer} elements cannot take {given}")
            }
            Self::Overlap => f.write_str("a copy would write elements that it reads"),
            Self::ForeignBuffer { what } => {
                write!(f, "an argument of {what} lives on another device")
            }
            Self::NotAPermutation { problem } => {
                write!(f, "the numbers are no permutation: {problem}")
            }
            Self::NoRandomness { reason } => write!(
                f,
                "the check of a permutation needs random numbers, and the system has none: {reason}"
            ),
            Self::ForeignEvent => f.write_str("the two events come from different devices"),
            Self::NoKernels { what } => write!(f, "{what} has no PTX: its crate embeds none"),
            Self::NoArchitecture {
                package,
                origin,
                architectures,
                compute_capability: (major, minor),
            } => {
                if architectures.is_empty() {
                    return write!(f, "{origin} has no PTX of `{package}`");
                }
                write!(
                    f,
                    "{origin} has PTX of `{package}` for {architectures}, but this device is sm_{major}{minor}"
                )
            }
            Self::PtxTooNew {
                origin,
                target,
                compute_capability: (major, minor),
            } => write!(
                f,
                "{origin} is for sm_{target} and newer, but this device is sm_{major}{minor}"
            ),
            Self::PtxUnreadable { path, .. } => write!(f, "cannot read {}", path.display()),
            Self::NotPtx { origin, problem } => write!(f, "{origin} is not PTX: {problem}"),
            Self::PtxRejected {
                device,
                origin,
                reason,
                ..
            } => write!(f, "{device} rejects {origin}: {reason}"),
            Self::UnknownKernel { kernel, origin } => {
                write!(f, "{origin} has no kernel `{kernel}`")
            }
            #[cfg(feature = "emulator")]
            Self::EmulatorMemory(error) => write!(f, "emulator: {error}"),
            #[cfg(feature = "emulator")]
            Self::EmulatorLaunch(error) => write!(f, "emulator: {error}"),
        }
    }
}

/// How the memory of a device is used, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Free, as the device says.
    pub free: u64,
    /// All of it.
    pub total: u64,
    /// Allocated by this process through this device.
    pub own: u64,
}

impl Room {
    /// What others use: other processes, other libraries in this one, the driver.
    pub fn others(&self) -> u64 {
        self.total
            .saturating_sub(self.free)
            .saturating_sub(self.own)
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: u64| match bytes {
            0..0x10_0000 => format!("{bytes} bytes"),
            0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
            _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        };
        let (free, total, own) = (size(self.free), size(self.total), size(self.own));
        write!(f, "{free} of {total} are free, this program has {own}")?;
        match self.others() {
            0 => Ok(()),
            others => write!(f, ", the driver and other processes {}", size(others)),
        }
    }
}

/// The output of `main` and `unwrap`: the message, and what to do about it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        match self.hint() {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::PtxUnreadable { source, .. } => Some(source),
            #[cfg(feature = "emulator")]
            Self::EmulatorMemory(error) => Some(error),
            #[cfg(feature = "emulator")]
            Self::EmulatorLaunch(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(feature = "emulator")]
impl From<ptx_emulator::MemoryError> for Error {
    fn from(error: ptx_emulator::MemoryError) -> Self {
        Self::EmulatorMemory(error)
    }
}

#[cfg(feature = "emulator")]
impl From<ptx_emulator::LaunchError> for Error {
    fn from(error: ptx_emulator::LaunchError) -> Self {
        Self::EmulatorLaunch(error)
    }
}

impl Error {
    /// Whether the device lacks memory: an error of ours, or the driver's out-of-memory code.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        const OUT_OF_MEMORY: u32 = 2;
        match self {
            Self::OutOfMemory { .. } => true,
            Self::Driver { code, .. } => *code == OUT_OF_MEMORY,
            Self::PtxRejected { code, .. } => *code == Some(OUT_OF_MEMORY),
            _ => false,
        }
    }

    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGpu { advice, .. } => Some(advice),
            Self::NoEmulator => Some("use a GPU, or build with the feature `emulator`"),
            Self::NoKernels { .. } => Some(
                "embed the PTX (`cuda_builder::embed()` in build.rs, `cuda_std::embedded_kernels!()` in lib.rs), or load a module",
            ),
            Self::Signature { .. } => Some("build the PTX again from the program's sources"),
            Self::Contract { .. } => Some(
                "both builds must see one kernel: look for `#[cfg]`, `cfg_attr` and `cfg!` in what it is made of, or build the PTX again",
            ),
            Self::PtxUnreadable { .. } => Some("check the path"),
            Self::NoArchitecture { architectures, .. } if architectures.is_empty() => {
                Some("name a folder with files such as kernels.sm_80.ptx")
            }
            Self::PtxTooNew { .. } | Self::NoArchitecture { .. } => {
                Some("build for this device: BLOCKWISE_ARCH=sm_XX")
            }
            Self::NotPtx { .. } => Some(
                "name a file of PTX text, as `rustc`, `nvcc --ptx` or `cargo xtask build-ptx` write it",
            ),
            Self::UnknownKernel { .. } => Some("build the PTX again from the program's sources"),
            Self::OutOfMemory { room, .. } if room.is_some_and(|room| room.others() > room.own) => {
                Some(
                    "end other processes that use it (`nvidia-smi` lists them), or use smaller input",
                )
            }
            Self::OutOfMemory { .. } => Some("free buffers, or use smaller input"),
            Self::OutOfHostMemory { .. } => Some(
                "free host memory, raise the limit of the container or the job, or use smaller input",
            ),
            Self::Spoiled { .. } => Some("open the device again, and fill its memory anew"),
            Self::ContextLost { .. } => {
                Some("start the program again; on the emulator a kernel's mistake shows its line")
            }
            #[cfg(feature = "cuda")]
            Self::PtxRejected {
                code: Some(code), ..
            }
            | Self::Driver { code, .. } => crate::cuda::hint(*code),
            _ => None,
        }
    }
}

/// `Result` with an [`Error`] unless another error type is given.
pub type Result<T, E = Error> = std::result::Result<T, E>;
