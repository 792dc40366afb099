//! Waiting for a GPU whose kernels may panic. The waiting thread polls, then sleeps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::{Stream, StreamFlags};

use super::context::CudaContext;
use super::driver_error;
use super::panics::Listener;
use super::polling::Pause;
use crate::backend::ATTENTIVE;
use crate::{Error, Result};

/// How long the rest of a launch may continue after one of its threads has panicked: others may
/// wait for that thread forever.
const GRACE: Duration = Duration::from_secs(10);

impl CudaContext {
    /// Waits for the work in a stream, and reports a panic in it.
    pub(super) fn wait(&self, stream: &Stream, polling: Duration) -> Result<()> {
        self.wait_at(&self.end_of(stream)?, stream, polling)
    }

    /// The same up to an event in the stream.
    pub(super) fn wait_at(&self, end: &Event, stream: &Stream, polling: Duration) -> Result<()> {
        let listeners = self.listeners();
        let settled = self.settle_at(end, Some(stream), &listeners, polling);
        // A panic may be the cause of a later error.
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

    fn end_of(&self, stream: &Stream) -> Result<Event> {
        let end = Event::new(EventFlags::DISABLE_TIMING).and_then(|end| {
            end.record(stream)?;
            Ok(end)
        });
        end.map_err(driver_error(self, "waiting for the GPU"))
    }

    /// Waits for a stream, but only for a limited time once a kernel has panicked. Leaves the
    /// panics to be reported later.
    pub(super) fn settle(&self, stream: &Stream, listeners: &[Arc<Listener>]) -> Result<()> {
        self.settle_at(&self.end_of(stream)?, Some(stream), listeners, ATTENTIVE)
    }

    /// The same up to an event, which is in the stream if one is given.
    pub(super) fn settle_at(
        &self,
        end: &Event,
        stream: Option<&Stream>,
        listeners: &[Arc<Listener>],
        polling: Duration,
    ) -> Result<()> {
        let waiting = || driver_error(self, "waiting for the GPU");
        let mut pause = Pause::new(polling);
        let mut panicked: Option<Instant> = None;
        while end.query().map_err(waiting())? == EventStatus::NotReady {
            if let Some(stream) = stream
                && listeners.is_empty()
                && pause.is_long()
            {
                return stream.synchronize().map_err(waiting());
            }
            if listeners.iter().any(|listener| listener.has_panic())
                && panicked.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                let panic = listeners.iter().find_map(|listener| listener.panic());
                return Err(self.give_up(panic));
            }
            pause.take();
        }
        // No wait: it lets the driver print what kernels have printed.
        end.synchronize().map_err(waiting())
    }

    /// Called before driver calls that wait for all kernels: they would wait forever where
    /// [`settle`](Self::settle) gives up.
    pub(super) fn settle_panics(&self) -> Result<()> {
        let listeners = self.listeners();
        if listeners.is_empty() {
            return Ok(());
        }
        self.streams()
            .iter()
            .try_for_each(|stream| self.settle(stream, &listeners))
    }

    /// The error of a launch that does not finish.
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

/// Terminates the kernels of this process by making another one fail: while a kernel runs, the
/// driver frees nothing, not even at exit. Errors are dropped.
fn end_all_kernels(context: &Context) {
    const FAILING: &str =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fails() { trap; }\n";
    let fail = || -> CudaResult<()> {
        let device = CurrentContext::get_device()?;
        // A separate context gets GPU time even if the GPU is full.
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
