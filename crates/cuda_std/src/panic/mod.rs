//! How a panic in a kernel reaches the host.
//!
//! A module whose kernels can panic has a variable [`CHANNEL`], one [`Channel`]; other modules have none. There are two ways:
//!
//! - The host listens: after loading the module it puts the address of a zeroed [`Report`] in memory that both see (`cuMemAllocHost`)
//!   into the channel. Then the first thread that panics fills the report, every thread that panics ends, and the context lives on.
//!   The host looks at [`Report::state`] after the launch; to listen again it zeroes the report and [`Channel::panicked`].
//! - Nobody listens: a panic is a `trap`. On a GPU the launch fails (`CUDA_ERROR_LAUNCH_FAILED`) and the context is lost.
//!
//! The emulator takes the calls of [`NUMBERS`] and [`TEXT`], to which every panic comes, for faults of the thread.
//!
//! The device formats nothing that it can leave to the host: a bounds check hands over two numbers, and [`Kind::message`] puts them in
//! core's words.
//!
//! Threads that panicked no longer count at barriers (`bar.sync` waits for those that have not ended), so the rest of the block goes
//! on, with whatever the panicked ones have not done. What waits for them by other means, such as a lock or an mbarrier, waits for ever.

#[cfg(target_arch = "nvptx64")]
mod core_panics;
#[cfg(target_arch = "nvptx64")]
mod handler;
mod report;

pub use report::{Kind, MESSAGE_BYTES, Report, Text};

/// The name of a module's [`Channel`] in the PTX.
pub const CHANNEL: &str = "cuda_std_panics";

/// The name of the function that ends a thread whose message is made of numbers. Its parameters: [`Kind`], the two numbers, the address
/// of the file's name, which ends with a zero, and the line.
pub const NUMBERS: &str = "cuda_std_panic";

/// The name of the function that ends a thread whose message is a text. Its parameters: the text's address and length, the file, the
/// line.
pub const TEXT: &str = "cuda_std_panic_text";

/// Where panics of a module go.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The address of a [`Report`], or 0: nobody listens.
    pub report: u64,
    /// How many threads have panicked. The one that finds 0 writes the report.
    pub panicked: u32,
    /// Zero.
    pub reserved: u32,
}
