//! A debugger that steps back: the [Debug Adapter Protocol] over a [`Replay`].
//!
//! [`serve`] answers one client until it disconnects. What to debug comes from the client's
//! `launch` request, which a [`Loader`] understands: it knows where PTX and arguments come from,
//! the session does not.
//!
//! A DAP thread is a warp, or a lane of the warp that stands at the launch's next step. Time is the
//! launch's own: a step of the client is a line of one lane, and every other warp goes on meanwhile
//! as the order of threads has it.
//!
//! [Debug Adapter Protocol]: https://microsoft.github.io/debug-adapter-protocol/specification

mod arguments;
mod breakpoints;
mod breaks;
mod debuggee;
mod element;
mod expression;
mod lane;
mod lines;
mod names;
mod run;
mod session;
mod steps;
mod threads;
mod variables;
mod wire;

pub use element::Element;
pub use session::serve;

use ptx_emulator::replay::Replay;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Makes what a client wants to debug.
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
    /// Types of elements, by the names of arrays; the others are those of the kernel's signature,
    /// or `u32`.
    pub types: HashMap<String, Element>,
    /// The PTX file: shown where the PTX has no lines of a source.
    pub ptx: String,
}
