//! How a panic in a kernel reaches the host: as a [`Report`], through a [`Channel`].
//!
//! The device's half is here; what both sides know, with the description of the two modes, is
//! `launch_contract::panic`.

#[cfg(target_arch = "nvptx64")]
mod core_panics;
#[cfg(target_arch = "nvptx64")]
mod handler;

pub use launch_contract::panic::*;
