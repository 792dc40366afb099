//! A stream of a GPU.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::AsyncCopyDestination;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust_raw::{CUDA_MEMCPY2D, CUmemorytype};

use super::context::CudaContext;
use super::polling::sleep_until;
use super::{answer, bytes_at, driver_error, foreign};
use crate::backend::{Queue, Rows, Timestamp};
use crate::{Error, Result};

/// Fields are dropped in this order: the stream before its context.
pub(super) struct CudaQueue {
    pub(super) stream: Arc<Stream>,
    pub(super) context: Arc<CudaContext>,
}

impl CudaQueue {
    pub(super) fn open(context: &Arc<CudaContext>, urgent: bool) -> Result<Arc<Self>> {
        context.enter()?;
        // Lower numbers go first; the driver clamps them.
        let priority = urgent.then_some(i32::MIN);
        // A blocking stream: copies of the legacy default stream wait for it, and it for them.
        let stream = Stream::new(StreamFlags::DEFAULT, priority)
            .map_err(driver_error(context, "making a stream"))?;
        let stream = Arc::new(stream);
        context.opened(&stream);
        Ok(Arc::new(Self {
            stream,
            context: Arc::clone(context),
        }))
    }

    fn event(&self, flags: EventFlags) -> Result<Event> {
        let event = Event::new(flags).and_then(|event| {
            event.record(&self.stream)?;
            Ok(event)
        });
        event.map_err(driver_error(&self.context, "recording an event"))
    }
}

/// The queue as this type. `Function::launch` has checked that it is of the same device.
pub(super) fn of(queue: &dyn Queue) -> Result<&CudaQueue> {
    let queue: &dyn Any = queue;
    queue.downcast_ref().ok_or_else(|| Error::ForeignBuffer {
        what: "a stream's work".to_owned(),
    })
}

impl Queue for CudaQueue {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the caller does not touch the bytes until the stream has been waited for, and the
        // memory is allocated.
        unsafe { bytes_at(address, bytes.len()).async_copy_from(bytes, &self.stream) }
            .map_err(driver_error(&self.context, "copying to the GPU"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.context.enter()?;
        // SAFETY: as for `write`.
        unsafe { bytes_at(address, bytes.len()).async_copy_to(bytes, &self.stream) }
            .map_err(driver_error(&self.context, "copying from the GPU"))
    }

    unsafe fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the memory is allocated, and any bytes are valid.
        unsafe { bytes_at(address, bytes).set_8_async(value, &self.stream) }
            .map_err(driver_error(&self.context, "filling memory of the GPU"))
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the memory is allocated and does not overlap.
        unsafe { bytes_at(to, bytes).async_copy_from(&bytes_at(from, bytes), &self.stream) }
            .map_err(driver_error(&self.context, "copying within the GPU"))
    }

    unsafe fn copy_rows(&self, from: Rows, to: Rows, width: usize, rows: usize) -> Result<()> {
        self.context.enter()?;
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: from.address,
            srcArray: std::ptr::null_mut(),
            srcPitch: from.pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: to.address,
            dstArray: std::ptr::null_mut(),
            dstPitch: to.pitch,
            WidthInBytes: width,
            Height: rows,
        };
        // SAFETY: the rows are allocated and do not overlap; the driver reads `copy` during the
        // call.
        answer(unsafe { cust_raw::cuMemcpy2DAsync_v2(&copy, self.stream.as_inner()) })
            .map_err(driver_error(&self.context, "copying rows within the GPU"))
    }

    fn wait_for(&self, other: &dyn Queue) -> Result<()> {
        self.context.enter()?;
        let end = of(other)?.event(EventFlags::DISABLE_TIMING)?;
        // The driver keeps a destroyed event while anything waits for it.
        self.stream
            .wait_event(end, StreamWaitEventFlags::DEFAULT)
            .map_err(driver_error(&self.context, "waiting for another stream"))
    }

    unsafe fn wait_for_foreign(&self, stream: *mut c_void) -> Result<()> {
        let own = self.handle()?;
        // SAFETY: the caller's promise, and our stream is alive.
        unsafe { foreign::order(stream, own) }.map_err(driver_error(
            &self.context,
            "waiting for another library's stream",
        ))
    }

    unsafe fn hold_foreign(&self, stream: *mut c_void) -> Result<()> {
        let own = self.handle()?;
        // SAFETY: the caller's promise, and our stream is alive.
        unsafe { foreign::order(own, stream) }.map_err(driver_error(
            &self.context,
            "making another library's stream wait",
        ))
    }

    fn record(&self) -> Result<Box<dyn Timestamp>> {
        self.context.enter()?;
        // Not a blocking event: its interrupt would add 0.7 us on an H200.
        let event = self.event(EventFlags::DEFAULT)?;
        Ok(Box::new(Timed(event, Arc::clone(&self.context))))
    }

    fn synchronize(&self) -> Result<()> {
        self.context.enter()?;
        self.context.wait(&self.stream)
    }

    fn handle(&self) -> Result<*mut c_void> {
        self.context.enter()?;
        Ok(self.stream.as_inner().cast())
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // Dropping the stream, which follows, needs the context.
        let _ = self.context.enter();
    }
}

/// An event with its context, which must outlive it.
struct Timed(Event, Arc<CudaContext>);

impl Timestamp for Timed {
    fn seconds_since(&self, start: &dyn Timestamp) -> Result<f64> {
        let start: &dyn Any = start;
        let Some(Timed(start, _)) = start.downcast_ref::<Timed>() else {
            return Err(Error::ForeignEvent);
        };
        let Timed(end, context) = self;
        context.enter()?;
        let milliseconds = sleep_until(end)
            .and_then(|()| sleep_until(start))
            .and_then(|()| end.elapsed_time_f32(start));
        let milliseconds = milliseconds.map_err(driver_error(context, "reading an event"))?;
        Ok(f64::from(milliseconds) / 1e3)
    }

    fn has_passed(&self) -> Result<bool> {
        let Timed(event, context) = self;
        context.enter()?;
        let status = event.query();
        let status = status.map_err(driver_error(context, "reading an event"))?;
        Ok(status == EventStatus::Ready)
    }
}
