//! Runs the kernels on a GPU or on the PTX emulator and compares them with references.

pub mod device;
mod named;

pub use named::UnknownName;
