//! Launches that are recorded once and replayed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::Replay;
use crate::memory::{Allocation, Core};
use crate::stream::{Stream, Work};
use crate::{Error, Result};

/// A recorded sequence of launches: a CUDA graph on a GPU, a list on the emulator.
/// [`Device::graph`](crate::Device::graph) records one.
///
/// It keeps the buffers' memory alive, and replays are ordered with other uses of it. Other
/// parameters keep the values of the recording.
pub struct Graph {
    replay: Box<dyn Replay>,
    uses: Vec<(Arc<Allocation>, bool)>,
    core: Arc<Core>,
}

impl Graph {
    pub(crate) fn new<E: From<Error>>(
        core: &Arc<Core>,
        steps: impl FnOnce(&Stream) -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let recorded = Arc::new(Mutex::default());
        steps(&Stream::recording(core, &recorded))?;
        // A clone of the stream may still exist; what it records from now on is dropped.
        let recorded =
            std::mem::take(&mut *recorded.lock().unwrap_or_else(PoisonError::into_inner));
        let (steps, used): (Vec<_>, Vec<_>) =
            recorded.into_iter().map(|it| (it.step, it.uses)).unzip();
        let mut uses: Vec<(Arc<Allocation>, bool)> = Vec::new();
        for (memory, written) in used.into_iter().flatten() {
            match uses
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &memory))
            {
                Some((_, known)) => *known |= written,
                None => uses.push((memory, written)),
            }
        }
        Ok(Self {
            replay: core.backend.graph(steps)?,
            uses,
            core: Arc::clone(core),
        })
    }

    /// Replays all launches in the device's own queue, in order. On a GPU they may still be running
    /// when this returns.
    ///
    /// # Errors
    /// When the device fails.
    pub fn launch(&self) -> Result<()> {
        self.start(None)
    }

    /// The same on a stream.
    ///
    /// # Errors
    /// If the device fails, or the stream belongs to another device or is being recorded itself.
    pub fn launch_on(&self, stream: &Stream) -> Result<()> {
        self.start(Some(stream))
    }

    fn start(&self, stream: Option<&Stream>) -> Result<()> {
        let queue = match stream {
            None => &self.core.queue,
            Some(stream) if !stream.core.is(&self.core) => {
                return Err(Error::ForeignBuffer {
                    what: "a graph".to_owned(),
                });
            }
            Some(Stream {
                work: Work::Run(queue),
                ..
            }) => queue,
            Some(_) => return Err(Error::NotRecordable { what: "a graph" }),
        };
        let uses = (self.uses.iter()).map(|(memory, written)| (&**memory, *written));
        self.core.enqueue(queue, uses, |queue| {
            // SAFETY: the graph owns its memory; its launches were checked when they were recorded.
            unsafe { self.replay.launch(queue) }
        })
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("buffers", &self.uses.len())
            .finish_non_exhaustive()
    }
}
