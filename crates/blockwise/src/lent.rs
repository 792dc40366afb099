//! Memory that another device copies from.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use launch_contract::launch::Plain;

use crate::memory::{Allocation, Core};
use crate::{Error, Result, Stream, View, ViewMut};

/// Elements of one device that another device of this process may copy, from any thread: from
/// [`View::lend`]. It keeps the memory allocated, but not unchanged: a copy is ordered after the
/// writes that were enqueued before it, and writes that are enqueued later wait for the copy.
///
/// ```
/// use blockwise::Device;
///
/// let (one, other) = (Device::any()?, Device::any()?);
/// let squares = one.upload(&[1, 4, 9])?;
/// let lent = squares.as_view().lend()?;
/// let mut copy = other.zeros(3)?;
/// copy.as_view_mut().copy_from_peer(&other.own_stream(), &lent)?;
/// assert_eq!(copy.to_vec()?, [1, 4, 9]);
/// # Ok::<(), blockwise::Error>(())
/// ```
pub struct Lent<T: Plain> {
    memory: Arc<Allocation>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Plain> Lent<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: Plain> View<'_, T> {
    /// The elements for copies by other devices, also after this borrow.
    ///
    /// # Errors
    /// [`Error::ForeignBuffer`] for memory of another library, which may free it then.
    pub fn lend(self) -> Result<Lent<T>> {
        let memory = self.allocation();
        if memory.is_foreign {
            return Err(Error::ForeignBuffer {
                what: "lending".to_owned(),
            });
        }
        Ok(Lent {
            memory: Arc::clone(memory),
            address: self.address().address,
            len: self.len(),
            element: PhantomData,
        })
    }
}

impl<T: Plain> ViewMut<'_, T> {
    /// Copies elements of another device on a stream of this one; nothing waits on the host. GPUs
    /// that reach each other's memory copy straight from one to the other.
    ///
    /// # Errors
    /// When the lengths differ, elements of a device of another kind, lent elements that are written
    /// here, a stream of another device or one that is being recorded, and failures of either device.
    pub fn copy_from_peer(&mut self, stream: &Stream, from: &Lent<T>) -> Result<()> {
        if from.len != self.len() {
            return Err(Error::LengthMismatch {
                buffer: self.len(),
                given: from.len,
            });
        }
        let (to, address) = (self.as_view(), self.address().address);
        let to = to.allocation();
        let (core, source): (&Core, &Core) = (&to.core, &from.memory.core);
        let kind = |core: &Core| core.backend.properties().kind;
        if !stream.core.is(core) || kind(core) != kind(source) {
            return Err(Error::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        }
        let queue = stream.queue("a copy from another device")?;
        let bytes = from.len * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        if Arc::ptr_eq(to, &from.memory) && address.abs_diff(from.address) < bytes as u64 {
            return Err(Error::Overlap);
        }
        core.enqueue_from(source, queue, (to, &from.memory), |queue| {
            // SAFETY: both spans lie in their memory, which is allocated until the uses that are
            // noted have ended. They do not overlap, by the check above.
            unsafe { queue.copy_from_peer(&*source.queue, from.address, address, bytes) }
        })
    }
}

impl<T: Plain> Clone for Lent<T> {
    fn clone(&self) -> Self {
        Self {
            memory: Arc::clone(&self.memory),
            ..*self
        }
    }
}

impl<T: Plain> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, len, .. } = self;
        write!(f, "Lent<{}>({len} at {address:#x})", T::NAME)
    }
}
