//! The command `blockwise`: the operations of `blockwise_ops` on files, and what measures and
//! checks kernels.
//!
//! - [`cli`] parses the command line, one file per command. No other module knows it:
//! - [`io`] reads and writes arrays and recordings.
//! - [`trace`] turns launches into trace pages.
//! - [`plot`] draws; the tutorials' experiments are the crate `blockwise_demo`.
//! - [`mod@bench`] times kernels on a GPU and searches for faster policies; [`profile`] counts
//!   their costs on the emulator.

//!
//! Without the feature `tools` there is only the command that makes projects and installs what they
//! need, so that `cargo install` of it takes seconds.

#[cfg(feature = "tools")]
pub mod bench;
#[cfg(feature = "tools")]
pub mod cli;
#[cfg(not(feature = "tools"))]
#[path = "without_tools.rs"]
pub mod cli;
#[cfg(feature = "tools")]
pub mod io;
#[cfg(feature = "tools")]
pub mod plot;
#[cfg(feature = "tools")]
pub mod profile;
mod project;
#[cfg(feature = "tools")]
mod table;
#[cfg(feature = "tools")]
pub mod trace;
