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

/// Whether a test of all kernels takes this one: `cargo xtask test --changed` names families.
pub fn is_wanted(kernel: &str) -> bool {
    match std::env::var("BLOCKWISE_TEST_KERNELS") {
        Ok(families) => {
            let family = kernel.split('_').next();
            families.split(',').any(|one| Some(one) == family)
        }
        Err(_) => true,
    }
}

/// Whether tests run whole sweeps in place of telling cases: `cargo xtask test --all`.
pub fn whole_sweeps() -> bool {
    std::env::var_os("BLOCKWISE_TEST_ALL").is_some()
}
