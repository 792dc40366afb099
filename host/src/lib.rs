//! The command `blockwise`: the operations of `blockwise_ops` on files, and what measures and
//! checks kernels.
//!
//! - [`cli`] parses the command line, one file per command. No other module knows it:
//! - [`io`] reads and writes arrays and recordings.
//! - [`trace`] turns launches into trace pages.
//! - [`demo`] runs the tutorials' experiments, [`plot`] draws them.
//! - [`mod@bench`] times kernels on a GPU and searches for faster policies; [`profile`] counts
//!   their costs on the emulator.

pub mod bench;
pub mod cli;
pub mod demo;
pub mod io;
pub mod plot;
pub mod profile;
pub mod trace;
