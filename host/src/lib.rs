//! Runs the kernels on a GPU or on the PTX emulator and compares them with references.

pub mod device;
pub mod launch;
mod named;

pub use named::UnknownName;
