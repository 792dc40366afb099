//! Launches that are recorded once and replayed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::launch::{Argument, Shape};

use crate::backend::{Callable, Replay};
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

/// One recorded step.
pub(crate) struct Node {
    pub(crate) work: NodeWork,
    /// The memory that it uses, with whether it is written.
    uses: Vec<(Arc<Allocation>, bool)>,
}

pub(crate) enum NodeWork {
    Launch {
        function: Arc<dyn Callable>,
        shape: Shape,
        /// The bytes of each parameter.
        arguments: Vec<Box<[u8]>>,
    },
    Fill {
        address: u64,
        bytes: usize,
        value: u8,
    },
}

impl Node {
    pub(crate) fn launch(
        function: Arc<dyn Callable>,
        shape: Shape,
        arguments: &[Argument<'_>],
        uses: Vec<(Arc<Allocation>, bool)>,
    ) -> Self {
        let copied = arguments.iter().map(|argument| {
            let mut bytes = vec![0_u8; argument.bytes()].into_boxed_slice();
            // SAFETY: an argument's pointer is valid for its bytes. A struct's padding is copied as
            // it is and only ever copied on.
            unsafe {
                argument
                    .as_ptr()
                    .copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
            }
            bytes
        });
        let work = NodeWork::Launch {
            function,
            shape,
            arguments: copied.collect(),
        };
        Self { work, uses }
    }

    pub(crate) fn fill(memory: Arc<Allocation>, value: u8) -> Self {
        Self {
            work: NodeWork::Fill {
                address: memory.address,
                bytes: memory.bytes,
                value,
            },
            uses: vec![(memory, true)],
        }
    }
}

/// Adds a step to a recording.
pub(crate) fn record(nodes: &Mutex<Vec<Node>>, node: Node) {
    nodes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(node);
}

impl Graph {
    pub(crate) fn new<E: From<Error>>(
        core: &Arc<Core>,
        steps: impl FnOnce(&Stream) -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let recorded = Arc::new(Mutex::default());
        steps(&Stream::recording(core, &recorded))?;
        // A clone of the stream may still exist; what it records from now on is dropped.
        let mut nodes =
            std::mem::take(&mut *recorded.lock().unwrap_or_else(PoisonError::into_inner));
        let mut uses: Vec<(Arc<Allocation>, bool)> = Vec::new();
        for (memory, written) in nodes.iter_mut().flat_map(|node| node.uses.drain(..)) {
            match uses
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &memory))
            {
                Some((_, known)) => *known |= written,
                None => uses.push((memory, written)),
            }
        }
        Ok(Self {
            replay: core.backend.graph(nodes)?,
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
