//! What the integration tests share: devices, inputs, comparisons, and a reader of PTX text.

pub mod alarms;
mod arguments;
pub mod bench;
pub mod check;
pub mod corpus;
pub mod data;
pub mod devices;
pub mod hardware;
pub mod jobs;
pub mod mutation;
pub mod ncu;
pub mod objects;
pub mod ptx;
pub mod sampling;
pub mod sums;

pub use arguments::Arguments;

/// The families of kernels that `cargo xtask test --changed` names; `None` for all.
pub fn wanted_families() -> Option<String> {
    std::env::var("BLOCKWISE_TEST_KERNELS").ok()
}

/// The family of a kernel: the first word of its name.
fn family(kernel: &str) -> &str {
    kernel.split('_').next().unwrap_or(kernel)
}

/// Whether a test of all kernels takes this one.
fn is_wanted(kernel: &str) -> bool {
    wanted_families().is_none_or(|names| names.split(',').any(|name| name == family(kernel)))
}

/// Whether tests run whole sweeps in place of telling cases: `cargo xtask test --all`.
pub fn whole_sweeps() -> bool {
    std::env::var_os("BLOCKWISE_TEST_ALL").is_some()
}
