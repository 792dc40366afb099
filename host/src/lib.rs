//! The command `blockwise`: the operations of `blockwise_ops` on files, and what measures and
//! checks kernels.
//!
//! - [`cli`] parses the command line; one file a command. Everything else is free of it:
//! - [`io`] reads and writes arrays and recordings.
//! - [`trace`] turns launches into pages.
//! - [`demo`] runs the tutorials' experiments, [`plot`] draws them.
//! - [`mod@bench`] times kernels on a GPU and searches faster policies, [`profile`] counts on the
//!   emulator what they cost.

pub mod bench;
pub mod cli;
pub mod demo;
pub mod io;
pub mod plot;
pub mod profile;
pub mod trace;
