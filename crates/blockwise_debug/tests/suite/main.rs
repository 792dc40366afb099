//! The debugger, spoken to as an editor does.

mod back;
mod common;
mod hostile;
mod session;
