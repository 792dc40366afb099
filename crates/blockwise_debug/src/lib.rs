//! A debugger that steps back: the [Debug Adapter Protocol] over a [`Replay`].
//!
//! [`serve`] answers one client until it disconnects. The client's `launch` request says what to
//! debug. A [`Loader`] interprets it: it knows where PTX and arguments come from, the session does
//! not.
//!
//! A DAP thread is a warp, or a lane of the warp at the launch's next step. Time is the launch's
//! own: a client's step is one source line of one lane; meanwhile all other warps continue in the
//! order of the schedule.
//!
//! [Debug Adapter Protocol]: https://microsoft.github.io/debug-adapter-protocol/specification

mod arguments;
mod breakpoints;
mod breaks;
mod debuggee;
mod dwarf;
mod element;
mod expression;
mod here;
mod lane;
mod lines;
mod names;
mod run;
mod session;
mod steps;
mod threads;
mod variables;
mod wire;
mod written;

pub use element::Element;
pub use session::serve;

use ptx_emulator::replay::Replay;
use ptx_emulator::report::Sources;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Creates the launch that a client wants to debug.
pub trait Loader {
    /// A launch, from the arguments of the client's request.
    ///
    /// # Errors
    /// A message for the user.
    fn load(&mut self, arguments: &Map<String, Value>) -> Result<Loaded, String>;
}

/// A launch to debug.
pub struct Loaded {
    /// The launch, before its first step.
    pub replay: Replay,
    /// Element types by array name; other arrays have those of the kernel's signature, or `u32`.
    pub types: HashMap<String, Element>,
    /// The PTX file, shown where the PTX has no source lines.
    pub ptx: String,
    /// The text of that file.
    pub text: String,
    /// Finds the files that the line table names.
    pub sources: Sources,
}
