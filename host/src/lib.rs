//! The command `blockwise`: the operations of `blockwise_ops` on files, and what measures and
//! checks kernels.
//!
//! - [`cli`] parses the command line, one file per command. No other module knows it:
//! - [`io`] reads and writes arrays and recordings.
//! - [`trace`] turns launches into trace pages.
//! - [`plot`] draws; the tutorials' experiments are the crate `blockwise_demo`.
//! - [`mod@bench`] times kernels on a GPU and searches for faster policies; [`profile`] counts
//!   their costs on the emulator.

pub mod bench;
pub mod cli;
pub mod io;
pub mod plot;
pub mod profile;
pub mod trace;
