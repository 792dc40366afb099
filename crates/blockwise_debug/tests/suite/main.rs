//! Tests of the debugger through the protocol, as an editor uses it.

mod back;
mod common;
mod dialogue;
mod hostile;
mod kept;
mod session;
mod variables;
