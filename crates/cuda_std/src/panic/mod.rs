//! How a panic in a kernel reaches the host.
//!
//! A module whose kernels can panic has a variable [`CHANNEL`], one [`Channel`]; other modules have none. A thread that panics fills
//! the channel's [`Report`]. There are two ways:
//!
//! - The host listens: after loading the module it points the channel to a [`Report`] in memory that both see (`cuMemAllocHost`), zeroed
//!   but for [`Report::is_heard`]. The first thread that panics fills it, every thread that panics ends, and the
//!   context lives on. The host looks at [`Report::state`] after the launch. To listen again it writes both again.
//! - Nobody listens: the report is in the module's own memory, and the thread traps. On a GPU the launch fails
//!   (`CUDA_ERROR_LAUNCH_FAILED`) and the context is lost. The emulator reads the report, zeroes it and [`Channel::claimed`], and
//!   names the panic as the fault.
//!
//! The device formats nothing that it can leave to the host: a bounds check leaves two numbers, and [`Report::message`] puts them in
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
pub const CHANNEL: &str = "cuda_std_panic";

/// Where panics of a module go.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The address of a [`Report`]; at first, of one in the module's own memory.
    pub report: u64,
    /// 0 until a thread has taken the report for itself, then 1.
    pub claimed: u32,
    /// Zero.
    pub reserved: u32,
}
