//! Small copies: through page-locked memory, so that the driver neither waits nor copies itself.

use std::sync::Arc;

use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::{AsyncCopyDestination, LockedBuffer};
use cust::stream::Stream;

use super::context::CudaContext;
use super::slots::Slot;
use super::{bytes_at, driver_error};
use crate::backend::{ATTENTIVE, Arrival, STAGED};
use crate::{Error, Result};

/// The most slots. When copies use all of them, the host waits for one.
const MOST: usize = 64;

impl CudaContext {
    /// Starts copying to the device. The context is current.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes, at most [`STAGED`].
    pub(super) unsafe fn send(&self, stream: &Stream, address: u64, bytes: &[u8]) -> Result<()> {
        let mut slot = self.slot()?;
        let memory = &mut slot.memory[..bytes.len()];
        memory.copy_from_slice(bytes);
        let copying = || driver_error(self, "copying to the GPU");
        // SAFETY: the slot is not used before its copy has ended, and the caller's promise.
        unsafe { bytes_at(address, bytes.len()).async_copy_from(&*memory, stream) }
            .map_err(copying())?;
        let slot = slot.started(stream).map_err(copying())?;
        self.staging.lock().push_back(slot);
        Ok(())
    }

    /// Starts copying from the device. The context is current.
    ///
    /// # Safety
    /// As for [`send`](Self::send).
    pub(super) unsafe fn fetch(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        address: u64,
        bytes: usize,
    ) -> Result<Box<dyn Arrival>> {
        let mut slot = self.slot()?;
        let copying = || driver_error(self, "copying from the GPU");
        let memory = &mut slot.memory[..bytes];
        // SAFETY: as above.
        unsafe { bytes_at(address, bytes).async_copy_to(memory, stream) }.map_err(copying())?;
        let slot = slot.started(stream).map_err(copying())?;
        Ok(Box::new(Fetched {
            slot: Some(slot),
            stream: Arc::clone(stream),
            context: Arc::clone(self),
        }))
    }

    /// Starts work that writes to page-locked memory itself, which saves the launch of a copy. The
    /// context is current.
    ///
    /// # Safety
    /// The work is in the stream, and accesses at most [`STAGED`] bytes there.
    pub(super) unsafe fn receive(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        start: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Box<dyn Arrival>> {
        let mut slot = self.slot()?;
        // With unified addressing, which every 64-bit driver has, page-locked memory has the same
        // address on the device.
        let started = start(slot.memory.as_mut_ptr() as u64);
        // Also after a failure, which may have left work in the stream.
        let slot = (slot.started(stream)).map_err(driver_error(self, "starting work"))?;
        let arrival = Fetched {
            slot: Some(slot),
            stream: Arc::clone(stream),
            context: Arc::clone(self),
        };
        started.map(|()| -> Box<dyn Arrival> { Box::new(arrival) })
    }

    fn new_slot(&self) -> Result<Slot> {
        let preparing = || driver_error(self, "preparing a copy");
        let memory = LockedBuffer::new(&0_u8, STAGED).map_err(|error| match error {
            CudaError::OutOfMemory => Error::OutOfHostMemory {
                bytes: STAGED as u64,
            },
            error => preparing()(error),
        })?;
        let end = Event::new(EventFlags::DISABLE_TIMING).map_err(preparing())?;
        Ok(Slot {
            memory,
            end,
            has_ended: true,
        })
    }

    /// A slot that no copy uses. Waits for one if all [`MOST`] are in use.
    fn slot(&self) -> Result<Slot> {
        let mut asked = 0;
        loop {
            // The driver is asked without the lock, which other threads want too.
            let (slot, others) = {
                let mut slots = self.staging.lock();
                (slots.pop_front(), slots.len())
            };
            let Some(slot) = slot else {
                return self.new_slot();
            };
            if slot.has_ended {
                return Ok(slot);
            }
            asked += 1;
            let ended = match slot.end.query() {
                Ok(EventStatus::Ready) => return Ok(slot),
                Ok(EventStatus::NotReady) if asked <= others => Ok(()),
                Ok(EventStatus::NotReady) if others + 1 < MOST => {
                    self.staging.lock().push_back(slot);
                    return self.new_slot();
                }
                Ok(EventStatus::NotReady) => {
                    asked = 0;
                    self.settle_at(&slot.end, None, &self.listeners(), ATTENTIVE)
                }
                Err(error) => Err(driver_error(self, "preparing a copy")(error)),
            };
            match ended {
                Ok(()) if asked == 0 => return Ok(slot),
                ended => {
                    self.staging.lock().push_back(slot);
                    ended?;
                }
            }
        }
    }
}

/// A copy from the device, in its slot.
struct Fetched {
    slot: Option<Slot>,
    stream: Arc<Stream>,
    context: Arc<CudaContext>,
}

impl Arrival for Fetched {
    fn wait(mut self: Box<Self>, bytes: &mut [u8]) -> Result<()> {
        let Some(slot) = &mut self.slot else {
            return Ok(());
        };
        self.context.wait_at(&slot.end, &self.stream, ATTENTIVE)?;
        slot.has_ended = true;
        bytes.copy_from_slice(&slot.memory[..bytes.len()]);
        Ok(())
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // The slot's next user learns from its event whether the copy has ended.
        self.context.staging.lock().extend(self.slot.take());
    }
}
