//! Why a launch was refused or failed.

use blockwise::Type;

use crate::ConvMode;
use kernels::conv1d::tiled::conv1d_tiled;

/// Why a launch was refused or failed. [`hint`](Self::hint) says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// An operand that needs at least one element has none.
    #[error("{what} is empty")]
    EmptyInput {
        /// The operand.
        what: &'static str,
    },
    /// An array without the axis that was asked for.
    #[error("there is no axis {axis} in an array of {dims} dimensions")]
    NoAxis {
        /// The axis, from the back if negative.
        axis: isize,
        /// The array's dimensions.
        dims: usize,
    },
    /// The shapes of two operands do not fit together.
    #[error("{left_name} is {} and {right_name} is {}: {rule}", shape(.left), shape(.right))]
    ShapeMismatch {
        /// The first operand.
        left_name: &'static str,
        /// Its shape.
        left: Vec<usize>,
        /// The second operand.
        right_name: &'static str,
        /// Its shape.
        right: Vec<usize>,
        /// What would fit.
        rule: &'static str,
    },
    /// A buffer has not the length that the shapes ask for.
    #[error("the buffer for {what} has {given} elements, {needed} are needed")]
    BufferLength {
        /// What the buffer is for.
        what: &'static str,
        /// The length that is needed.
        needed: usize,
        /// Its length.
        given: usize,
    },
    /// A number of elements that does not fit in 64 bits.
    #[error("{what} is larger than 64 bits can count")]
    SizeOverflow {
        /// What is too large.
        what: &'static str,
    },
    /// A block of no threads was asked for.
    #[error("a block needs at least one thread along each of x, y and z, {block:?} asked for")]
    ZeroThreads {
        /// The block's threads along x, y and z.
        block: [u32; 3],
    },
    /// A block with more threads than the device allows.
    #[error(
        "a block of {block:?} threads is over this device's limit of {limit} threads, at most {dims:?}"
    )]
    TooManyThreads {
        /// The block's threads along x, y and z.
        block: [u32; 3],
        /// The most threads of a block.
        limit: u32,
        /// The most threads along x, y and z.
        dims: [u32; 3],
    },
    /// A kernel that shuffles within warps needs whole warps.
    #[error("{threads} threads are not a multiple of {warp_size}, which kernel `{kernel}` needs")]
    NotWholeWarps {
        /// The threads asked for.
        threads: u32,
        /// The lanes of a warp.
        warp_size: u32,
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel whose block is given by its static array or its taps, and another block was asked
    /// for.
    #[error("kernel `{kernel}` has blocks of {needed} threads, {given} asked for")]
    FixedBlock {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads of its blocks.
        needed: u32,
        /// The threads asked for.
        given: u32,
    },
    /// More taps than the kernel has threads or room for.
    #[error("kernel `{kernel}` takes at most {limit} taps on this device, {taps} given")]
    TooManyTaps {
        /// The kernel's name.
        kernel: &'static str,
        /// The taps.
        taps: usize,
        /// The most that it takes.
        limit: u32,
    },
    /// More elements than the kernel counts.
    #[error("kernel `{kernel}` takes at most {limit} elements, {len} given")]
    TooLong {
        /// The kernel's name.
        kernel: &'static str,
        /// The elements.
        len: usize,
        /// The most that it takes.
        limit: usize,
    },
    /// A grid of no blocks was asked for.
    #[error("a grid needs at least one block along each of x, y and z, {grid:?} asked for")]
    ZeroGrid {
        /// The grid.
        grid: [u32; 3],
    },
    /// A grid with more blocks than the device allows.
    #[error("a grid of {grid:?} blocks is over this device's limit of {limit:?}")]
    TooManyBlocks {
        /// The grid.
        grid: [u32; 3],
        /// The most blocks along x, y and z.
        limit: [u32; 3],
    },
    /// More shared memory than a block can have.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of shared memory; this device allows {limit} per block"
    )]
    SharedMemory {
        /// The kernel's name.
        kernel: &'static str,
        /// The bytes that it needs.
        needed: u64,
        /// The most bytes of a block, opted in.
        limit: u32,
    },
    /// A kernel that does not exist for this element type.
    #[error("kernel `{kernel}` works on {supported} only, not on {given}")]
    UnsupportedType {
        /// The kernel's name.
        kernel: &'static str,
        /// What it works on.
        supported: &'static str,
        /// The type asked for.
        given: &'static str,
    },
    /// The tensor cores' kernel on a device that does not have it.
    #[error(
        "the product on tensor cores needs a GPU of compute capability 9.0 and PTX for it, which {device} does not have"
    )]
    TensorCores {
        /// The device's name.
        device: String,
    },
    /// A kernel that needs memory of its own, where nothing may be allocated.
    #[error("kernel `{kernel}` needs memory of its own, which `enqueue` does not allocate")]
    NeedsMemory {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel without an instance for an element type.
    #[error("kernel `{kernel}` has no instance for {given}, only for {known}")]
    NoInstance {
        /// The kernel's name.
        kernel: &'static str,
        /// The type asked for.
        given: Type,
        /// What it has instances for.
        known: String,
    },
    /// A kernel that works on whole arrays, and an axis was asked for.
    #[error("kernel `{kernel}` reverses whole arrays, not along an axis")]
    NoAxes {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel that reduces whole arrays, and an axis was asked for, or the other way round.
    #[error("kernel `{kernel}` reduces {}", if *.kernel == "axis" { "along an axis only" } else { "whole arrays, not along an axis" })]
    NoLines {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// An operation, or such a problem of it, that cannot be divided.
    #[error("`{operation}` along an axis of a larger array is not divided")]
    NotDivided {
        /// The operation.
        operation: &'static str,
    },
    /// A kernel of another operation.
    #[error("kernel `{kernel}` is none of `{operation}`")]
    NotOf {
        /// The kernel's name.
        kernel: &'static str,
        /// The operation.
        operation: &'static str,
    },
    /// An operand of another type than is computed with, or one that is missing.
    #[error("the {what} has elements of {}, {wanted} is wanted", .given.map_or("no type", Type::name))]
    OperandType {
        /// The operand.
        what: &'static str,
        /// The type that is computed with.
        wanted: Type,
        /// The operand's type; `None` if it is missing.
        given: Option<Type>,
    },
    /// An operand of other dimensions.
    #[error("{what} has shape {shape:?}, and {wanted} is wanted")]
    Rank {
        /// The operand.
        what: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// What is wanted.
        wanted: &'static str,
    },
    /// A kernel that does not have this mode.
    #[error("kernel `{kernel}` computes mode {supported} only, not {given}")]
    UnsupportedMode {
        /// The kernel's name.
        kernel: &'static str,
        /// The mode that it has.
        supported: ConvMode,
        /// The mode asked for.
        given: ConvMode,
    },
    /// A kernel that computes all outputs at once, and a part of them was asked for.
    #[error("kernel `{kernel}` computes all outputs at once, not a part of them")]
    NoParts {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel for a signal, and a matrix of them was given.
    #[error("kernel `{kernel}` convolves one signal, not each row of a matrix")]
    OneRow {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel that does not do what a setting asks for.
    #[error("kernel `{kernel}` does not do what `--{setting}` asks for")]
    Contradiction {
        /// The kernel's name.
        kernel: &'static str,
        /// The setting.
        setting: &'static str,
    },
    /// A kernel for two matrices, and a batch of them was asked for.
    #[error("kernel `{kernel}` multiplies two matrices, not a batch of them")]
    NoBatch {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The device failed, or the kernel went wrong on it.
    #[error(transparent)]
    Device(#[from] blockwise::Error),
}

impl LaunchError {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooManyTaps { .. }
            | Self::UnsupportedMode { .. }
            | Self::UnsupportedType { .. } => Some("use kernel `tiled`"),
            Self::SharedMemory { kernel, .. } if is_tiled_convolution(kernel) => {
                Some("use fewer threads or taps, or kernel `direct`, which needs no shared memory")
            }
            Self::SharedMemory { .. } | Self::TooManyThreads { .. } => {
                Some("use fewer threads per block")
            }
            Self::TensorCores { .. } => Some(
                "use the product without tensor cores (without `--tensor`); on such a GPU use PTX for sm_90a: release builds embed it, debug builds with BLOCKWISE_ARCH=sm_80,sm_90a",
            ),
            Self::NeedsMemory { .. } => Some("make a `Call`, which holds the memory"),
            Self::NoInstance { .. } => Some("leave the kernel out: then one is chosen that has"),
            Self::TooLong { .. } => Some("leave the kernel out, or use kernel `single`"),
            Self::Rank { .. } => Some("reshape it first"),
            Self::OneRow { .. } => Some("leave the kernel out: then one is chosen that does"),
            Self::NoParts { .. } => Some("leave the kernel out, or use one device and one chunk"),
            Self::NoBatch { .. } => {
                Some("leave the kernel and `--tensor` out: then one is chosen that has batches")
            }
            Self::NotWholeWarps { .. } => Some("use kernel `tree`, or whole warps"),
            Self::FixedBlock { .. } => Some("leave the threads out, or use another kernel"),
            Self::NoAxis { .. } => {
                Some("axes count from 0 in the order of the shape, or from -1 at its end")
            }
            Self::Contradiction { .. } => Some("leave one of the two out"),
            Self::Device(error) => error.hint(),
            _ => None,
        }
    }
}

/// `3x4`, or `5 elements` for one dimension.
fn shape(dims: &[usize]) -> String {
    match dims {
        [len] => format!("{len} elements"),
        _ => dims
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("x"),
    }
}

fn is_tiled_convolution(kernel: &str) -> bool {
    let tiled = [conv1d_tiled::<f32>::entry(), conv1d_tiled::<f64>::entry()];
    tiled.iter().any(|entry| entry.name == kernel)
}
