//! Runs the kernels on a GPU or on the PTX emulator and compares them with references.

pub mod bench;
pub mod cli;
pub mod compare;
pub mod demo;
pub mod device;
pub mod io;
pub mod launch;
mod named;
pub mod oracle;
pub mod pipeline;
pub mod plot;
pub mod profile;

pub use named::UnknownName;
