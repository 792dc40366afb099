//! Progress of a running launch.

use crate::fault::Loop;
use std::sync::{Mutex, PoisonError};

/// A progress report: see [`Emulator::set_progress`](crate::Emulator::set_progress).
#[non_exhaustive]
pub enum Progress<'a> {
    /// A check starts another thread order: the number run so far.
    Order(u32),
    /// A block has been running for some time.
    Running(Running<'a>),
}

/// A long-running block.
pub struct Running<'a> {
    block: [u32; 3],
    rounds: &'a dyn Fn() -> Option<([u32; 3], Loop)>,
}

impl<'a> Running<'a> {
    pub(crate) fn new(block: [u32; 3], rounds: &'a dyn Fn() -> Option<([u32; 3], Loop)>) -> Self {
        Self { block, rounds }
    }

    /// The block's index in the grid.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// A thread of the block that is in a loop, and the loop; computed on demand.
    pub fn going_round(&self) -> Option<([u32; 3], Loop)> {
        (self.rounds)()
    }
}

/// The listener.
type Listener = Box<dyn FnMut(Progress<'_>) + Send>;

/// Forwards the progress of launches to the listener.
#[derive(Default)]
pub(crate) struct Sink(Mutex<Option<Listener>>);

impl Sink {
    pub(crate) fn set(&self, listener: Listener) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }

    /// Calls the listener, unless another worker is calling it.
    pub(crate) fn tell(&self, progress: Progress<'_>) {
        if let Ok(mut listener) = self.0.try_lock()
            && let Some(listener) = &mut *listener
        {
            listener(progress);
        }
    }
}
