use crate::fault::{Fault, Nearest};

/// Why a PTX text was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct ParseError {
    /// The line of the PTX text, from 1.
    pub line: u32,
    /// The description of the problem.
    pub message: String,
    /// The category of the problem.
    pub kind: ParseErrorKind,
}

/// The category of a [`ParseError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text is not valid PTX.
    Syntax,
    /// Valid PTX that this emulator does not support (yet).
    Unsupported {
        /// The instruction with all its modifiers, or the directive.
        form: String,
    },
    /// PTX larger than the emulator accepts.
    Limit,
}

impl ParseError {
    pub(crate) fn syntax(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            kind: ParseErrorKind::Syntax,
        }
    }

    pub(crate) fn limit(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            kind: ParseErrorKind::Limit,
        }
    }

    /// Whether it is valid PTX that this emulator does not support.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.kind, ParseErrorKind::Unsupported { .. })
    }

    pub(crate) fn unsupported(line: u32, form: impl Into<String>) -> Self {
        let form = form.into();
        Self {
            line,
            message: format!("unsupported: `{form}`; the emulator does not know this form"),
            kind: ParseErrorKind::Unsupported { form },
        }
    }
}

/// Why device memory could not be allocated, freed, written or read by the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The request is larger than the remaining memory.
    #[error("out of device memory: {requested} bytes asked for, {available} of {limit} left")]
    OutOfMemory {
        /// Bytes requested.
        requested: u64,
        /// Bytes available.
        available: u64,
        /// [`Limits::memory_bytes`](crate::Limits::memory_bytes).
        limit: u64,
    },
    /// Not an address that `alloc` returned, or one already freed.
    #[error("cannot free {address:#x}: {reason}")]
    InvalidFree {
        /// The address given.
        address: u64,
        /// Already freed, inside an allocation, or unknown.
        reason: &'static str,
    },
    /// The bytes are not all inside one allocation.
    #[error("{size} bytes at {address:#x} are not inside one allocation{}", nearest_suffix(.nearest))]
    OutOfBounds {
        /// The first byte.
        address: u64,
        /// The number of bytes.
        size: u64,
        /// The closest allocation.
        nearest: Option<Nearest>,
    },
    /// An image that cannot be a texture or a surface.
    #[error("no texture or surface can be made of this image: {problem}")]
    InvalidImage {
        /// What is wrong with it.
        problem: String,
    },
    /// A tensor map that no device can copy through.
    #[error("no tensor map can be made of this: {problem}")]
    InvalidTensor {
        /// What is wrong with it.
        problem: String,
    },
    /// Not a texture or surface reference of the module.
    #[error("the module has no texture or surface reference `{name}`; it has: {}", list(.available))]
    NoReference {
        /// The name requested.
        name: String,
        /// The names available.
        available: Vec<String>,
    },
    /// A function or initial value refers to something that the module only declares.
    #[error("`{name}` refers to `{symbol}`, which the module declares but does not define")]
    UnresolvedSymbol {
        /// The function or variable.
        name: String,
        /// The undefined symbol.
        symbol: String,
    },
}

fn nearest_suffix(nearest: &Option<Nearest>) -> String {
    nearest
        .as_ref()
        .map(|n| format!("; {n}"))
        .unwrap_or_default()
}

/// Why a launch did not start or complete.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch was refused: nothing ran.
    #[error("launch refused: {0}")]
    Invalid(#[from] InvalidLaunch),
    /// The program faulted.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A problem with a launch's configuration or arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLaunch {
    /// The module has no kernel of that name.
    #[error("no kernel `{name}` in the module; it has: {}", list(.available))]
    NoSuchKernel {
        /// The name requested.
        name: String,
        /// The names available.
        available: Vec<String>,
    },
    /// The kernel, or a function that it reaches, uses an unsupported form.
    #[error("kernel `{kernel}` cannot run here: {reason}")]
    Unsupported {
        /// The kernel's name.
        kernel: String,
        /// The form and its line.
        reason: ParseError,
    },
    /// The module was loaded by another emulator.
    #[error("the module was loaded into another emulator; load it into this one")]
    ForeignModule,
    /// A grid extent is zero or over the limit.
    #[error("grid {grid:?}: each extent must be between 1 and {limit:?}")]
    Grid {
        /// The grid requested.
        grid: [u32; 3],
        /// The largest grid.
        limit: [u32; 3],
    },
    /// A block extent is zero or over the limit, or the block has too many threads.
    #[error(
        "block {block:?}: each extent must be between 1 and {limit:?}, and their product at most {threads}"
    )]
    Block {
        /// The block requested.
        block: [u32; 3],
        /// The largest extents.
        limit: [u32; 3],
        /// The largest number of threads in a block.
        threads: u32,
    },
    /// The kernel is compiled for another block (`.reqntid`).
    #[error("block {block:?}: the kernel is for blocks of {required:?} only")]
    OtherBlock {
        /// The block requested.
        block: [u32; 3],
        /// The block that it is for.
        required: [u32; 3],
    },
    /// The grid is not a multiple of the cluster size.
    #[error("grid {grid:?}: each extent must be a multiple of the kernel's clusters, {cluster:?}")]
    Cluster {
        /// The grid requested.
        grid: [u32; 3],
        /// The blocks of a cluster.
        cluster: [u32; 3],
    },
    /// More shared memory than a block can have.
    #[error(
        "{needed} bytes of shared memory ({fixed} static and {dynamic} dynamic) are over the limit of {limit}"
    )]
    Shared {
        /// Static and dynamic bytes together.
        needed: u64,
        /// The kernel's static bytes.
        fixed: u64,
        /// The launch's dynamic bytes.
        dynamic: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The number of arguments differs from the number of parameters.
    #[error("kernel `{kernel}` takes {expected} arguments, {given} given")]
    ArgumentCount {
        /// The kernel's name.
        kernel: String,
        /// Its number of parameters.
        expected: usize,
        /// The number of arguments.
        given: usize,
    },
    /// An argument's size differs from its parameter's.
    #[error("argument {} of kernel `{kernel}` must have {expected} bytes, {given} given", .index + 1)]
    ArgumentSize {
        /// The kernel's name.
        kernel: String,
        /// Which argument, from 0; the message counts from 1.
        index: usize,
        /// The parameter's size in bytes.
        expected: u32,
        /// The argument's size in bytes.
        given: usize,
    },
    /// The blocks wait for each other, and a device cannot hold all of them at the same time.
    #[error(
        "kernel `{kernel}` waits for its whole grid (`grid.sync`): {blocks} blocks, of which an H200 holds {most} at once"
    )]
    Cooperative {
        /// The kernel's name.
        kernel: String,
        /// The blocks of the grid.
        blocks: u64,
        /// The largest number that can be resident.
        most: u64,
    },
    /// The kernel needs more than [`Limits`](crate::Limits) allow.
    #[error("kernel `{kernel}` needs {needed} bytes of {what}; the limit is {limit}")]
    Resources {
        /// The kernel's name.
        kernel: String,
        /// The resource.
        what: &'static str,
        /// The amount needed.
        needed: u64,
        /// The amount available.
        limit: u64,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
