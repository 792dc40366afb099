//! Waiting for a GPU whose kernels may panic.

use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::{Stream, StreamFlags};

use super::DeviceError;
use super::cuda::{CudaDevice, driver_error};
use super::panics::Listener;

/// How long the rest of a launch may go on after one of its threads has panicked: some may wait for that thread for ever.
const GRACE: Duration = Duration::from_secs(10);

/// Why this process cannot use its GPU any more. CUDA makes no new context after an error in a kernel.
pub(super) static LOST: OnceLock<String> = OnceLock::new();

/// Whether this process can use its GPU.
pub(super) fn usable() -> Result<(), DeviceError> {
    match LOST.get() {
        Some(cause) => Err(DeviceError::ContextLost {
            cause: cause.clone(),
        }),
        None => Ok(()),
    }
}

impl CudaDevice {
    /// Waits for what was started in a stream, and tells of a panic there.
    pub(super) fn wait(&self, stream: &Stream) -> Result<(), DeviceError> {
        let listeners = self.listeners();
        let settled = self.settle(stream, &listeners);
        // A panic may be why something else went wrong after it.
        let panic = listeners.iter().find_map(|listener| listener.panic());
        listeners.iter().for_each(|listener| listener.ended(stream));
        match panic {
            None => settled,
            Some(panic) => {
                if settled.is_ok() {
                    let listening = || driver_error("listening to panics again");
                    for listener in &listeners {
                        listener.listen().map_err(listening())?;
                    }
                }
                Err(panic)
            }
        }
    }

    fn listeners(&self) -> Vec<Arc<Listener>> {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.iter().filter_map(Weak::upgrade).collect()
    }

    /// Waits for a stream, but not for ever once one has panicked. The panics stay where they are.
    fn settle(&self, stream: &Stream, listeners: &[Arc<Listener>]) -> Result<(), DeviceError> {
        let waiting = || driver_error("waiting for the GPU");
        if listeners.is_empty() {
            return stream.synchronize().map_err(waiting());
        }
        let end = Event::new(EventFlags::DISABLE_TIMING).map_err(waiting())?;
        end.record(stream).map_err(waiting())?;
        let mut panicked: Option<Instant> = None;
        while end.query().map_err(waiting())? == EventStatus::NotReady {
            if listeners.iter().any(|listener| listener.has_panic())
                && panicked.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                let panic = listeners.iter().find_map(|listener| listener.panic());
                return Err(self.give_up(panic));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Before a call in which the driver waits for all kernels by itself: it would wait for ever where [`settle`](Self::settle) gives up.
    pub(super) fn settle_panics(&self) -> Result<(), DeviceError> {
        match self.listeners().as_slice() {
            [] => Ok(()),
            listeners => self.settle(&self.stream, listeners),
        }
    }

    /// The error of a launch that does not end.
    fn give_up(&self, panic: Option<DeviceError>) -> DeviceError {
        let panic = panic.map(|panic| panic.to_string()).unwrap_or_default();
        let cause = format!(
            "{panic}; {} s later other threads were still running, so they may wait for that one",
            GRACE.as_secs()
        );
        LOST.get_or_init(|| cause.clone());
        end_all_kernels(&self.context);
        DeviceError::ContextLost { cause }
    }
}

/// Ends the kernels of this process by letting another one fail: a driver that has a running kernel gives nothing back, not even
/// at the program's end. Nobody is left to hear of an error.
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
