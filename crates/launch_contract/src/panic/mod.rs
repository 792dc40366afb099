//! How a panic in a kernel reaches the host.
//!
//! A module whose kernels can panic has a variable [`CHANNEL`], one [`Channel`]; other modules have
//! none. There are two modes:
//!
//! - The host listens: after loading the module it stores the address of a zeroed [`Report`], in
//!   memory visible to both (`cuMemAllocHost`), in the channel. Then the first thread that panics
//!   fills in the report, every thread that panics exits, and the context survives. The host reads
//!   [`Report::state`] after the launch; to listen again it zeroes the report and
//!   [`Channel::panicked`].
//! - Nobody listens: a panic is a `trap`. On a GPU the launch fails (`CUDA_ERROR_LAUNCH_FAILED`)
//!   and the context is lost.
//!
//! The emulator treats calls of [`NUMBERS`] and [`TEXT`], through which every panic goes, as faults
//! of the thread.
//!
//! The device formats nothing that the host can format: a bounds check passes two numbers, and
//! [`Kind::message`] has core's wording.
//!
//! Threads that panicked no longer count at barriers (`bar.sync` waits for threads that have not
//! exited), so the rest of the block continues, without the work of the panicked threads. Whatever
//! waits for them by other means, such as a lock or an mbarrier, waits forever.

mod report;

pub use report::{Kind, MESSAGE_BYTES, Report, Text};

/// The name of a module's [`Channel`] in the PTX.
pub const CHANNEL: &str = "cuda_std_panics";

/// Name of the function that ends a thread with a message made from numbers. Its parameters:
/// [`Kind`], the two numbers, the address of the zero-terminated file name, and the line.
pub const NUMBERS: &str = "cuda_std_panic";

/// Name of the function that ends a thread with a text. Its parameters: the text's address and
/// length, the file, the line.
pub const TEXT: &str = "cuda_std_panic_text";

/// The destination of a module's panics.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The address of a [`Report`], or 0 if nobody listens.
    pub report: u64,
    /// Number of threads that have panicked. The one that reads 0 writes the report.
    pub panicked: u32,
    /// Zero.
    pub reserved: u32,
}
