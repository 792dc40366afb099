//! The package `blockwise_std` by the name that it has in rust-cuda, for programs that must
//! `[patch]`: cargo replaces a package only by one of the same name. Its library has this name too.

#![no_std]

pub use ::cuda_std::*;
