//! Waiting for a GPU whose kernels may panic. The waiting thread sleeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::{Stream, StreamFlags};

use super::context::CudaContext;
use super::driver_error;
use super::panics::Listener;
use crate::{Error, Result};

/// How long the rest of a launch may go on after one of its threads has panicked: some may wait for that thread for ever.
const GRACE: Duration = Duration::from_secs(10);

/// How long a wait looks again and again before it sleeps in between.
const ATTENTIVE: Duration = Duration::from_micros(50);

/// The longest sleep between two looks.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Why this process cannot use a GPU any more: CUDA makes no new context after an error in a kernel.
pub(super) fn lost(ordinal: usize) -> &'static OnceLock<String> {
    static LOST: Mutex<Option<HashMap<usize, &'static OnceLock<String>>>> = Mutex::new(None);
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    // One for each GPU of the machine, for the life of the process.
    lost.get_or_insert_default()
        .entry(ordinal)
        .or_insert_with(|| Box::leak(Box::default()))
}

/// Whether this process can use a GPU.
pub(super) fn usable(ordinal: usize) -> Result<()> {
    check(lost(ordinal))
}

pub(super) fn check(lost: &OnceLock<String>) -> Result<()> {
    match lost.get() {
        Some(cause) => Err(Error::ContextLost {
            cause: cause.clone(),
        }),
        None => Ok(()),
    }
}

impl CudaContext {
    /// Waits for what was started in a stream, and reports a panic there.
    pub(super) fn wait(&self, stream: &Stream) -> Result<()> {
        let listeners = self.listeners();
        let settled = self.settle(stream, &listeners);
        // A panic may be why something else went wrong after it.
        let panic = listeners.iter().find_map(|listener| listener.panic());
        listeners.iter().for_each(|listener| listener.ended(stream));
        match panic {
            None => settled,
            Some(panic) => {
                if settled.is_ok() {
                    for listener in &listeners {
                        let listening = driver_error(self, "listening to panics again");
                        listener.listen().map_err(listening)?;
                    }
                }
                Err(panic)
            }
        }
    }

    /// Waits for a stream, but not for ever once a kernel has panicked. The panics stay where they are.
    fn settle(&self, stream: &Stream, listeners: &[Arc<Listener>]) -> Result<()> {
        let waiting = || driver_error(self, "waiting for the GPU");
        if listeners.is_empty() {
            return stream.synchronize().map_err(waiting());
        }
        let end = Event::new(EventFlags::DISABLE_TIMING).map_err(waiting())?;
        end.record(stream).map_err(waiting())?;
        let mut pause = Pause::new();
        let mut panicked: Option<Instant> = None;
        while end.query().map_err(waiting())? == EventStatus::NotReady {
            if listeners.iter().any(|listener| listener.has_panic())
                && panicked.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                let panic = listeners.iter().find_map(|listener| listener.panic());
                return Err(self.give_up(panic));
            }
            pause.take();
        }
        Ok(())
    }

    /// Before a call in which the driver waits for all kernels by itself: it would wait for ever where [`settle`](Self::settle) gives up.
    pub(super) fn settle_panics(&self) -> Result<()> {
        let listeners = self.listeners();
        if listeners.is_empty() {
            return Ok(());
        }
        self.queues()
            .iter()
            .try_for_each(|queue| self.settle(&queue.stream, &listeners))
    }

    /// The error of a launch that does not end.
    fn give_up(&self, panic: Option<Error>) -> Error {
        let panic = panic.map(|panic| panic.to_string()).unwrap_or_default();
        let cause = format!(
            "{panic}; {} s later other threads were still running, so they may wait for that one",
            GRACE.as_secs()
        );
        self.lost.get_or_init(|| cause.clone());
        end_all_kernels(&self.context);
        Error::ContextLost { cause }
    }
}

/// Waits for an event that no interrupt follows.
pub(super) fn sleep_until(event: &Event) -> CudaResult<()> {
    let mut pause = Pause::new();
    while event.query()? == EventStatus::NotReady {
        pause.take();
    }
    Ok(())
}

/// Pauses between looks at something that the driver does not wake a thread for: none at first, then longer and longer ones.
struct Pause {
    start: Instant,
    next: Duration,
}

impl Pause {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            next: Duration::from_micros(10),
        }
    }

    fn take(&mut self) {
        if self.start.elapsed() > ATTENTIVE {
            std::thread::sleep(self.next);
            self.next = (self.next * 2).min(LONGEST_SLEEP);
        }
    }
}

/// Ends the kernels of this process by letting another one fail: a driver that has a running kernel frees nothing, not even at the
/// program's end. Nobody is left to hear of an error.
fn end_all_kernels(context: &Context) {
    const FAILING: &str =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fails() { trap; }\n";
    let fail = || -> CudaResult<()> {
        let device = CurrentContext::get_device()?;
        // A context of its own gets time of the GPU, however full it is.
        let _other = cust::context::legacy::Context::create_and_push(
            cust::context::legacy::ContextFlags::SCHED_AUTO,
            device,
        )?;
        let module = cust::module::Module::from_ptx(FAILING, &[])?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let function = module.get_function("fails")?;
        // SAFETY: the kernel has no parameters and touches no memory.
        unsafe { stream.launch(&function, 1, 1, 0, &[]) }?;
        stream.synchronize()
    };
    let _ = fail();
    let _ = CurrentContext::set_current(context);
}
