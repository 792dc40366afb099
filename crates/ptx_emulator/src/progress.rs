//! What a launch tells while it runs.

use crate::fault::Loop;
use std::sync::{Mutex, PoisonError};

/// News of a launch: see [`Emulator::set_progress`](crate::Emulator::set_progress).
#[non_exhaustive]
pub enum Progress<'a> {
    /// A check begins to run another order of the threads: how many it has run.
    Order(u32),
    /// A block that has run for some time goes on.
    Running(Running<'a>),
}

/// A block that goes on.
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

    /// A thread of the block that goes round a loop, and the loop; found when it is asked for.
    pub fn going_round(&self) -> Option<([u32; 3], Loop)> {
        (self.rounds)()
    }
}

/// The listener.
type Listener = Box<dyn FnMut(Progress<'_>) + Send>;

/// Takes the news of launches.
#[derive(Default)]
pub(crate) struct Sink(Mutex<Option<Listener>>);

impl Sink {
    pub(crate) fn set(&self, listener: Listener) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }

    /// Tells it, unless another worker tells something at this moment.
    pub(crate) fn tell(&self, progress: Progress<'_>) {
        if let Ok(mut listener) = self.0.try_lock()
            && let Some(listener) = &mut *listener
        {
            listener(progress);
        }
    }
}
