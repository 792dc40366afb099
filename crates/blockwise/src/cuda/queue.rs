//! A stream of a GPU.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::AsyncCopyDestination;
use cust::stream::{Stream, StreamFlags};
use cust_raw::{CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUmemorytype};

use super::context::CudaContext;
use super::mark::Mark;
use super::polling::sleep_until;
use super::{answer, bytes_at, driver_error};
use crate::backend::{Arrival, Queue, Rows, STAGED, Timestamp};
use crate::progress::Progress;
use crate::{Error, Result};

/// Fields are dropped in this order: stream and mark before their context.
pub(super) struct CudaQueue {
    pub(super) stream: Arc<Stream>,
    /// What other queues wait for.
    end: Mark,
    progress: Progress,
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
            end: Mark::new().map_err(driver_error(context, "making an event"))?,
            progress: Progress::default(),
            context: Arc::clone(context),
        }))
    }

    fn mark(&self) -> Result<Mark> {
        Mark::new().map_err(driver_error(&self.context, "making an event"))
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
    fn progress(&self) -> &Progress {
        &self.progress
    }

    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.context.enter()?;
        if bytes.len() <= STAGED {
            // SAFETY: the caller's promise.
            return unsafe { self.context.send(&self.stream, address, bytes) };
        }
        // SAFETY: the memory is allocated, and the bytes stay as they are until the wait is over.
        unsafe { self.write(address, bytes) }?;
        self.context.settle(&self.stream, &self.context.listeners())
    }

    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<Option<Box<dyn Arrival>>> {
        self.context.enter()?;
        if bytes.len() <= STAGED {
            // SAFETY: the caller's promise.
            let fetched = unsafe { (self.context).fetch(&self.stream, address, bytes.len()) };
            return fetched.map(Some);
        }
        // SAFETY: as for `upload`.
        unsafe { self.read(address, bytes) }?;
        self.context
            .settle(&self.stream, &self.context.listeners())?;
        Ok(None)
    }

    unsafe fn deliver(
        &self,
        address: u64,
        bytes: &mut [u8],
        start: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Option<Box<dyn Arrival>>> {
        self.context.enter()?;
        if bytes.len() <= STAGED {
            // SAFETY: the caller's promise.
            return unsafe { self.context.receive(&self.stream, start) }.map(Some);
        }
        start(address)?;
        // SAFETY: the caller's promise.
        unsafe { self.download(address, bytes) }
    }

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

    unsafe fn copy_from_peer(
        &self,
        other: &dyn Queue,
        from: Rows,
        to: Rows,
        width: usize,
        rows: usize,
    ) -> Result<()> {
        let other = of(other)?;
        let [own, peer] = [self, other].map(|queue| queue.context.context.as_raw());
        let is_one_run = rows == 1 || [from.pitch, to.pitch] == [width; 2];
        if own == peer {
            let (from_run, to_run, bytes) = (from.address, to.address, width * rows);
            // SAFETY: the caller's promise.
            return unsafe {
                match is_one_run {
                    true => self.copy(from_run, to_run, bytes),
                    false => self.copy_rows(from, to, width, rows),
                }
            };
        }
        self.context.reach(&other.context)?;
        let stream = self.stream.as_inner();
        let copied = if is_one_run {
            let (from, to, bytes) = (from.address, to.address, width * rows);
            // SAFETY: the memory is allocated in these contexts, which are alive.
            answer(unsafe { cust_raw::cuMemcpyPeerAsync(to, own, from, peer, bytes, stream) })
        } else {
            let copy = CUDA_MEMCPY3D_PEER {
                srcXInBytes: 0,
                srcY: 0,
                srcZ: 0,
                srcLOD: 0,
                srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                srcHost: std::ptr::null(),
                srcDevice: from.address,
                srcArray: std::ptr::null_mut(),
                srcContext: peer,
                srcPitch: from.pitch,
                srcHeight: rows,
                dstXInBytes: 0,
                dstY: 0,
                dstZ: 0,
                dstLOD: 0,
                dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                dstHost: std::ptr::null_mut(),
                dstDevice: to.address,
                dstArray: std::ptr::null_mut(),
                dstContext: own,
                dstPitch: to.pitch,
                dstHeight: rows,
                WidthInBytes: width,
                Height: rows,
                Depth: 1,
            };
            // SAFETY: as above; the driver reads `copy` during the call.
            answer(unsafe { cust_raw::cuMemcpy3DPeerAsync(&copy, stream) })
        };
        copied.map_err(driver_error(&self.context, "copying from another GPU"))
    }

    fn wait_for(&self, other: &dyn Queue) -> Result<()> {
        let other = of(other)?;
        let waiting = || driver_error(&self.context, "waiting for another stream");
        other.context.enter()?;
        // SAFETY: the stream is alive and of this context, as is the mark.
        unsafe { other.end.record(other.stream.as_inner().cast()) }.map_err(waiting())?;
        self.context.enter()?;
        // SAFETY: as above.
        unsafe { other.end.hold(self.stream.as_inner().cast()) }.map_err(waiting())
    }

    unsafe fn wait_for_foreign(&self, stream: *mut c_void) -> Result<()> {
        let own = self.handle()?;
        let mark = self.mark()?;
        // SAFETY: the caller's promise, and our stream is alive.
        unsafe { mark.order(stream, own) }.map_err(driver_error(
            &self.context,
            "waiting for another library's stream",
        ))
    }

    unsafe fn hold_foreign(&self, stream: *mut c_void) -> Result<()> {
        let own = self.handle()?;
        // SAFETY: the caller's promise, and our stream is alive.
        unsafe { self.end.order(own, stream) }.map_err(driver_error(
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

    fn wait(&self, polling: Duration) -> Result<()> {
        self.context.enter()?;
        let latest = self.progress.latest();
        self.context.wait(&self.stream, polling)?;
        self.progress.end(latest);
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.context.enter()?;
        let latest = self.progress.latest();
        self.context
            .settle(&self.stream, &self.context.listeners())?;
        self.progress.end(latest);
        Ok(())
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
