//! Streams: queues of work that overlap, and memory that is copied while the host goes on.

use std::sync::Arc;

use super::backend::{Backend, HostMemory, Queue};
use super::{Device, DeviceBuffer, DeviceError, Element};

/// A queue of a device's work beside the device's own: copies and launches of one stream happen in order, those of two
/// streams overlap where the device can. On the emulator everything has ended when its call returns.
///
/// The device's own queue waits for all streams, and they for it.
#[derive(Clone)]
pub struct Stream {
    // Before the backend, which it belongs to.
    queue: Arc<dyn Queue>,
    backend: Arc<dyn Backend>,
}

impl Stream {
    pub(super) fn open(backend: &Arc<dyn Backend>) -> Result<Self, DeviceError> {
        Ok(Self {
            queue: Arc::clone(backend).queue()?,
            backend: Arc::clone(backend),
        })
    }

    /// Waits for everything that was started on this stream.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.queue.synchronize()
    }

    pub(super) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// Memory twice: on the device, and page-locked in the host, from where a GPU copies by itself while the host goes on.
/// All copies go through one stream.
pub struct StagedBuffer<T: Element> {
    stream: Stream,
    host: Box<dyn HostMemory>,
    device: DeviceBuffer<T>,
}

impl<T: Element> StagedBuffer<T> {
    /// Takes memory for `len` elements on both sides. On the device their values are undefined.
    ///
    /// # Errors
    /// When one of the two has no room for them.
    pub fn alloc(device: &Device, stream: &Stream, len: usize) -> Result<Self, DeviceError> {
        let device = DeviceBuffer::alloc(device, len)?;
        if !std::ptr::addr_eq(Arc::as_ptr(device.backend()), Arc::as_ptr(&stream.backend)) {
            return Err(DeviceError::ForeignBuffer {
                what: "a stream".to_owned(),
            });
        }
        Ok(Self {
            stream: stream.clone(),
            host: stream.backend.pin(device.bytes().max(1))?,
            device,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.device.len()
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.device.is_empty()
    }

    /// The elements in the host, after everything that was started on the stream.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub fn host(&mut self) -> Result<&mut [T], DeviceError> {
        self.stream.synchronize()?;
        let bytes = self.device.bytes();
        Ok(bytemuck::cast_slice_mut(&mut self.host.bytes()[..bytes]))
    }

    /// The memory on the device. Copies of it that the buffer's own functions make do not go through the stream.
    pub fn device(&self) -> &DeviceBuffer<T> {
        &self.device
    }

    /// The memory on the device, to be written by a launch.
    pub fn device_mut(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.device
    }

    /// Starts copying all elements to the device.
    ///
    /// # Errors
    /// When the copy cannot be started.
    pub fn upload(&mut self) -> Result<(), DeviceError> {
        if self.is_empty() {
            return Ok(());
        }
        // SAFETY: the host's bytes are only reached through `host` and `drop`, which wait for the stream.
        unsafe { (self.stream.queue).write(self.device.address(), self.host.bytes()) }
    }

    /// Starts copying all elements from the device, after what the stream was asked for before.
    ///
    /// # Errors
    /// When the copy cannot be started.
    pub fn download(&mut self) -> Result<(), DeviceError> {
        if self.is_empty() {
            return Ok(());
        }
        // SAFETY: as for `upload`.
        unsafe { (self.stream.queue).read(self.device.address(), self.host.bytes()) }
    }
}

impl<T: Element> Drop for StagedBuffer<T> {
    fn drop(&mut self) {
        // A copy may be under way. Where even waiting fails, the device does nothing any more.
        let _ = self.stream.synchronize();
    }
}

impl<T: Element> std::fmt::Debug for StagedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StagedBuffer({:?})", self.device)
    }
}
