//! What a kernel and the host that launches it agree on.

#![no_std]
#![forbid(unsafe_code)]

mod ty;

pub use ty::{Type, UnknownType};
