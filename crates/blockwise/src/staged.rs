//! Device memory paired with page-locked host memory, for asynchronous copies.

use std::fmt;
use std::time::Duration;

use launch_contract::launch::Plain;

use crate::backend::{ATTENTIVE, HostMemory};
use crate::buffer::check_alignment;
use crate::{Buffer, Result, Stream, ViewMut};

/// `len` elements twice: on the device, and page-locked on the host, so that a GPU copies
/// asynchronously while the host continues. All its copies go through one stream.
pub struct StagedBuffer<T: Plain> {
    stream: Stream,
    host: Box<dyn HostMemory>,
    device: Buffer<T>,
}

impl<T: Plain> StagedBuffer<T> {
    /// Allocates both. All elements are zero.
    ///
    /// # Errors
    /// If either lacks memory, the type's alignment exceeds 16 bytes, or the stream is being
    /// recorded.
    pub fn new(stream: &Stream, len: usize) -> Result<Self> {
        stream.queue("a staged buffer")?;
        check_alignment::<T>(16)?;
        let device = Buffer::<T>::filled(&stream.core, Some(stream), len, 0)?;
        let host = stream.core.backend.pin(device.memory.bytes.max(1))?;
        Ok(Self {
            stream: stream.clone(),
            host,
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

    /// The elements on the host, after all earlier work on the stream.
    ///
    /// # Errors
    /// Errors of that work.
    pub fn host(&mut self) -> Result<&mut [T]> {
        self.host_polling(ATTENTIVE)
    }

    /// The same, but the thread polls that long before it sleeps, as in
    /// [`Device::synchronize_polling`](crate::Device::synchronize_polling).
    ///
    /// # Errors
    /// As for [`host`](Self::host).
    pub fn host_polling(&mut self, polling: Duration) -> Result<&mut [T]> {
        self.stream.wait(polling)?;
        let bytes = self.host.bytes();
        debug_assert!(bytes.len() >= self.device.memory.bytes);
        // SAFETY: there are bytes for `len` elements, aligned to 16; any bytes are valid values of
        // a plain type, and vice versa.
        Ok(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), self.device.len()) })
    }

    /// The memory on the device.
    pub fn device(&self) -> &Buffer<T> {
        &self.device
    }

    /// The memory on the device, for a launch to write. It cannot be swapped:
    ///
    /// ```compile_fail,E0308
    /// # fn staged(mut a: blockwise::StagedBuffer<u8>, longer: &mut blockwise::Buffer<u8>) {
    /// std::mem::swap(a.device_mut(), longer);
    /// # }
    /// ```
    // Not the buffer: `std::mem::swap` could replace it by a longer one, or another device's.
    pub fn device_mut(&mut self) -> ViewMut<'_, T> {
        self.device.as_view_mut()
    }

    /// Starts copying all elements to the device.
    ///
    /// # Errors
    /// When the copy cannot be started.
    pub fn upload(&mut self) -> Result<()> {
        self.copy(true)
    }

    /// Starts copying all elements from the device, after all earlier uses of them.
    ///
    /// # Errors
    /// When the copy cannot be started.
    pub fn download(&mut self) -> Result<()> {
        self.copy(false)
    }

    fn copy(&mut self, to_device: bool) -> Result<()> {
        if self.device.is_empty() {
            return Ok(());
        }
        let memory = &self.device.memory;
        let bytes = &mut self.host.bytes()[..memory.bytes];
        let queue = self.stream.queue("a copy")?;
        let uses = [(&**memory, to_device)];
        (memory.core).enqueue(queue, uses.into_iter(), |queue| {
            // SAFETY: the bytes are pinned, as many as the allocation has, and accessed only
            // through `host` and `drop`, which wait for the stream.
            unsafe {
                match to_device {
                    true => queue.write(memory.address, bytes),
                    false => queue.read(memory.address, bytes),
                }
            }
        })
    }
}

impl<T: Plain> Drop for StagedBuffer<T> {
    fn drop(&mut self) {
        // A copy may be in flight. If even waiting fails, the device no longer runs anything.
        let _ = self.stream.synchronize();
    }
}

impl<T: Plain> fmt::Debug for StagedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StagedBuffer({:?})", self.device)
    }
}
