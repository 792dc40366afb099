//! Errors of a build from crate to PTX.

use std::io;
use std::path::PathBuf;

use crate::tools::{ToolError, Toolchain, tested};

/// Why a build failed. Each message says what to do, or includes the failing tool's output.
#[derive(Debug, thiserror::Error)]
pub enum CudaBuilderError {
    /// A compiler or LLVM tool is missing.
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// An unsupported option of rust-cuda.
    #[error("`CudaBuilder::{option}` cannot be had: {reason}")]
    Refused {
        /// The option.
        option: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The given path has no crate.
    #[error("no crate to build at {}: {reason}", path.display())]
    NoCrate {
        /// The path given to `CudaBuilder::new`.
        path: PathBuf,
        /// The problem with it.
        reason: String,
    },
    /// The crate does not compile for the device.
    #[error("cargo could not compile {} for {target}:\n{message}", path.display())]
    Compile {
        /// The crate's folder.
        path: PathBuf,
        /// The target CPU.
        target: &'static str,
        /// The compiler's messages.
        message: String,
    },
    /// One of LLVM's tools failed.
    #[error("{tool} failed ({status}):\n{message}")]
    Llvm {
        /// The tool's path and arguments.
        tool: String,
        /// Its exit status.
        status: String,
        /// Its standard error.
        message: String,
    },
    /// A program could not be started.
    #[error("cannot run {}: {source}", tool.display())]
    Start {
        /// The program's path.
        tool: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The crate contains no kernel.
    #[error("{} has no kernel: mark an `unsafe fn` of it with `#[kernel]`", path.display())]
    NoKernels {
        /// The crate's folder.
        path: PathBuf,
    },
    /// A kernel of [`CudaBuilder::only`](crate::CudaBuilder::only) that the crate does not have.
    #[error("{} has no kernel `{kernel}`", path.display())]
    NoSuchKernel {
        /// The crate's folder.
        path: PathBuf,
        /// The kernel's name.
        kernel: String,
    },
    /// An attribute of rust-cuda's compiler backend that would have had an effect.
    #[error(
        "{}:{line}: `{attribute}` is an attribute of rust-cuda's own compiler backend and means nothing to this compiler; use \
         cuda_std's `#[kernel]`, `#[address_space(shared)]`, `#[address_space(constant)]` or `#[externally_visible]`",
        path.display()
    )]
    BackendAttribute {
        /// The source file.
        path: PathBuf,
        /// The attribute's line.
        line: usize,
        /// The attribute.
        attribute: String,
    },
    /// A kernel uses something that only OptiX or rust-cuda's compiler backend provides.
    #[error("kernel `{kernel}` uses `{symbol}`, which exists neither here nor in CUDA: {owner}")]
    SuppliedElsewhere {
        /// The kernel that reaches the use.
        kernel: String,
        /// The function or static.
        symbol: String,
        /// Who provides it.
        owner: &'static str,
    },
    /// Kernels take more arguments than CUDA passes.
    #[error("{}", reports.join("\n"))]
    Parameters {
        /// One text per kernel, with the size of its parameters.
        reports: Vec<String>,
    },
    /// The constants exceed CUDA's constant memory.
    #[error(
        "constant memory: {bytes} bytes, of which the largest part is `{largest}`; there are 65536 (64 KiB); a static without \
         `#[address_space(constant)]` lies in global memory"
    )]
    ConstantMemory {
        /// Total size of all constants.
        bytes: u64,
        /// The largest one.
        largest: String,
    },
    /// Shared arrays are accessed through pointers whose address space is unknown.
    #[error("{}", reports.join("\n"))]
    GenericSharedAccess {
        /// One text per place: the kernel, the variable, its use with the line, and what can be
        /// done instead.
        reports: Vec<String>,
    },
    /// Functions or statics that are used and defined nowhere.
    #[error("{}", reports.join("\n"))]
    Undefined {
        /// One text per symbol: the kernel, the symbol, and the line.
        reports: Vec<String>,
    },
    /// A kernel with `starts_early` accesses memory before it waits for the kernel before it.
    #[error(
        "kernel `{kernel}`: the compiler moved an access above the wait of `starts_early` (`{access}`), where the kernel before \
         it may still run; remove the option"
    )]
    EarlyAccess {
        /// The kernel.
        kernel: String,
        /// The instruction.
        access: String,
    },
    /// The compiler duplicated a barrier; threads would wait at different copies.
    #[error(
        "kernel `{kernel}`: the compiler duplicated the barrier at {location} in `{function}` ({copies} copies), and threads would \
         wait at different ones; remove `-Zmir-enable-passes` from the build arguments, or move the barrier out of the branch"
    )]
    DuplicatedBarrier {
        /// The kernel that reaches the barrier.
        kernel: String,
        /// The function that contains it.
        function: String,
        /// `line:column` of the barrier in the source.
        location: String,
        /// Number of copies.
        copies: usize,
    },
    /// Some threads may miss a barrier, or some lanes a warp operation.
    #[error("{}", reports.join("\n"))]
    Divergence {
        /// One text per place: the kernel, the line of the barrier, the line of the branch.
        reports: Vec<String>,
    },
    /// LLVM IR has a form that the lowering does not know.
    #[error("unexpected LLVM IR: {reason} in `{text}`")]
    UnexpectedIr {
        /// The unknown form.
        reason: String,
        /// The text that contains it.
        text: String,
    },
    /// A build failed with a compiler or LLVM that this crate was not tested with.
    #[error("{advice}\n{source}")]
    Untested {
        /// The versions that work, and the commands that install them.
        advice: String,
        /// The failure.
        source: Box<CudaBuilderError>,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CudaBuilderError {
    /// The same, with the versions that work in its first line if these tools are not among them.
    pub(crate) fn with_tools(self, toolchain: &Toolchain) -> Self {
        match tested::warning(toolchain) {
            Some(advice) => Self::Untested {
                advice,
                source: Box::new(self),
            },
            None => self,
        }
    }

    /// Whether it is the device's compiler's, about a line of code.
    pub(crate) fn is_in_the_code(&self) -> bool {
        match self {
            Self::Compile { message, .. } => {
                (message.lines()).any(|line| line.trim_start().starts_with("--> "))
            }
            Self::Untested { source, .. } => source.is_in_the_code(),
            _ => false,
        }
    }

    /// The texts of an error that has one per place.
    pub(crate) fn reports(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Parameters { reports }
            | Self::GenericSharedAccess { reports }
            | Self::Undefined { reports }
            | Self::Divergence { reports } => Some(reports),
            Self::Untested { source, .. } => source.reports(),
            _ => None,
        }
    }
}

/// Adds the action and the file to the system's error.
pub(crate) fn io_error(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> CudaBuilderError {
    let path = path.into();
    move |source| CudaBuilderError::Io {
        action,
        path,
        source,
    }
}
