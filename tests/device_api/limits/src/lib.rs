//! A constant that differs between the two builds of the crates that use it.

#![no_std]

/// 1024 on the host.
pub const LIMIT: usize = if cfg!(target_arch = "nvptx64") {
    16
} else {
    1024
};
