//! Streams: queues of work that overlap.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use launch_contract::launch::Memory;

use crate::backend::{ATTENTIVE, Queue};
use crate::memory::{Allocation, Core};
use crate::recording::{Recorded, record};
use crate::{Error, Event, Result};

/// A queue of device work in addition to the device's own: copies and launches of one stream run in
/// order, those of two streams overlap if the device can. On the emulator all work has finished
/// when its call returns.
///
/// Uses of one buffer by two streams are ordered automatically: the later one waits.
#[derive(Clone)]
pub struct Stream {
    pub(crate) work: Work,
    pub(crate) core: Arc<Core>,
}

/// The destination of a stream's work.
#[derive(Clone)]
pub(crate) enum Work {
    /// To the device.
    Run(Arc<dyn Queue>),
    /// Into a graph.
    Record(Arc<Mutex<Vec<Recorded>>>),
}

impl Stream {
    pub(crate) fn open(core: &Arc<Core>, urgent: bool) -> Result<Self> {
        Ok(Self {
            work: Work::Run(core.backend.queue(urgent)?),
            core: Arc::clone(core),
        })
    }

    /// The device's own queue.
    pub(crate) fn of(core: &Arc<Core>) -> Self {
        Self {
            work: Work::Run(Arc::clone(&core.queue)),
            core: Arc::clone(core),
        }
    }

    /// A stream whose work is recorded.
    pub(crate) fn recording(core: &Arc<Core>, steps: &Arc<Mutex<Vec<Recorded>>>) -> Self {
        Self {
            work: Work::Record(Arc::clone(steps)),
            core: Arc::clone(core),
        }
    }

    /// Waits for all earlier work on this stream. The thread sleeps after a millisecond.
    ///
    /// # Errors
    /// Errors of that work. A stream that is being recorded has nothing to wait for, which is an
    /// error too.
    pub fn synchronize(&self) -> Result<()> {
        self.wait(ATTENTIVE)
    }

    pub(crate) fn wait(&self, polling: Duration) -> Result<()> {
        self.queue("waiting")?.wait(polling)?;
        self.core.waited()
    }

    /// A timestamp taken when all earlier work of this stream has finished.
    ///
    /// # Errors
    /// If the device fails, and on a stream that is being recorded.
    pub fn record(&self) -> Result<Event> {
        Event::record(self.queue("a timestamp")?, &self.core)
    }

    /// Orders later work of this stream after other streams' uses of `memory`, and later uses of it
    /// after that work: for work that is enqueued later than what must not delay it.
    ///
    /// # Errors
    /// Memory of another device, and a stream that is being recorded.
    pub fn order(&self, memory: &[Memory<'_>]) -> Result<()> {
        // SAFETY: nothing is enqueued.
        unsafe { self.enqueue_foreign(memory, |_| Ok(())) }
    }

    /// Enqueues work of another library, such as a transfer between GPUs. `start` gets the stream
    /// as a `CUstream` whose context is current, or null on the emulator. The work is ordered after
    /// other streams' uses of `memory`, and later uses after it.
    ///
    /// # Errors
    /// That of `start`, memory of another device, and a stream that is being recorded.
    ///
    /// # Safety
    /// The library enqueues its work in this stream during the call. It uses no memory of this
    /// device but its own and the memory named by this call or by an earlier one, with no
    /// conflicting use enqueued since.
    pub unsafe fn enqueue_foreign<E: From<Error>>(
        &self,
        memory: &[Memory<'_>],
        start: impl FnOnce(*mut c_void) -> Result<(), E>,
    ) -> Result<(), E> {
        let what = "another library's work";
        let uses: Result<Vec<_>> = memory
            .iter()
            .map(|memory| {
                let owner: &dyn Any = memory.owner;
                let allocation = owner.downcast_ref::<Arc<Allocation>>();
                let own = allocation.filter(|allocation| allocation.core.is(&self.core));
                let own = own.ok_or_else(|| Error::ForeignBuffer {
                    what: what.to_owned(),
                })?;
                Ok((&**own, memory.written))
            })
            .collect();
        let mut started = Ok(());
        (self.core).enqueue(self.queue(what)?, uses?.iter().copied(), |queue| {
            started = start(queue.handle()?);
            Ok(())
        })?;
        started
    }

    /// Does work on this stream as if it were enqueued in another library's: after all that is in
    /// that stream now, and before all that follows there. Nothing waits on the host.
    ///
    /// `foreign` is a `CUstream` of the device's primary context; null is its default stream. On
    /// the emulator there is nothing to order.
    ///
    /// # Errors
    /// Those of `work`, a stream of another context, and a stream that is being recorded.
    ///
    /// # Safety
    /// `foreign` is alive during the call.
    pub unsafe fn within<T, E: From<Error>>(
        &self,
        foreign: *mut c_void,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let queue = self.queue("work within another library's stream")?;
        // SAFETY: the caller's promise.
        unsafe { queue.wait_for_foreign(foreign) }?;
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        // Work that failed or panicked may have enqueued a part.
        // SAFETY: the caller's promise.
        let held = unsafe { queue.hold_foreign(foreign) };
        let done = done.unwrap_or_else(|panic| resume_unwind(panic))?;
        held?;
        Ok(done)
    }

    /// The queue, unless the stream is being recorded.
    pub(crate) fn queue(&self, what: &'static str) -> Result<&Arc<dyn Queue>> {
        match &self.work {
            Work::Run(queue) => Ok(queue),
            Work::Record(_) => Err(Error::NotRecordable { what }),
        }
    }
}

/// Sets all bytes of an allocation, on a stream or on the device's own queue.
pub(crate) fn fill(memory: &Arc<Allocation>, stream: Option<&Stream>, value: u8) -> Result<()> {
    let core = &memory.core;
    if stream.is_some_and(|stream| !stream.core.is(core)) {
        return Err(Error::ForeignBuffer {
            what: "a fill".to_owned(),
        });
    }
    if memory.bytes == 0 {
        return Ok(());
    }
    let queue = match stream.map(|stream| &stream.work) {
        None => &core.queue,
        Some(Work::Run(queue)) => queue,
        Some(Work::Record(steps)) => {
            record(steps, Recorded::fill(Arc::clone(memory), value));
            return Ok(());
        }
    };
    core.enqueue(queue, [(&**memory, true)].into_iter(), |queue| {
        // SAFETY: these are the allocation's bytes.
        unsafe { queue.fill(memory.address, memory.bytes, value) }
    })
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recording = matches!(self.work, Work::Record(_));
        f.debug_struct("Stream")
            .field("recording", &recording)
            .finish_non_exhaustive()
    }
}
