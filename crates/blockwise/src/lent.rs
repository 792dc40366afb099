//! Memory that another device copies from.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use launch_contract::launch::Plain;

use crate::backend::Rows;
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
        let [from_rows, to_rows] = [from.address, address].map(|address| Rows {
            address,
            pitch: bytes,
        });
        core.enqueue_from(queue, to, &[&from.memory], |queue| {
            // SAFETY: both spans lie in their memory, which is allocated until the uses that are
            // noted have ended. They do not overlap, by the check above.
            unsafe { queue.copy_from_peer(&*source.queue, from_rows, to_rows, bytes, 1) }
        })
    }

    /// Puts columns into a matrix, of which these elements are the rows of `cols` elements: each part
    /// with the number of its first column, and its own elements row after row. The other columns
    /// stay.
    ///
    /// Lent columns are copied on the first stream, in the order of the parts, and this device's own
    /// meanwhile on the second one. What comes later in the first stream sees all of them.
    ///
    /// # Errors
    /// When the elements are no whole rows, parts have other rows, go beyond the matrix or overlap;
    /// as for [`copy_from_peer`](Self::copy_from_peer), and for lent elements of the memory that is
    /// written here.
    pub fn gather_columns(
        &mut self,
        [stream, beside]: [&Stream; 2],
        cols: usize,
        parts: &[(usize, Columns<'_, T>)],
    ) -> Result<()> {
        let (len, bytes) = (self.len(), |elements: usize| elements * size_of::<T>());
        let rows = len.checked_div(cols).unwrap_or(0);
        let mismatch = |given| Error::LengthMismatch { buffer: len, given };
        if rows * cols != len {
            return Err(mismatch(rows * cols));
        }
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (first, part) in parts {
            let width = part.len().checked_div(rows).unwrap_or(0);
            let end = first.checked_add(width).filter(|&end| end <= cols);
            let end = end.filter(|_| width * rows == part.len());
            let end = end.ok_or_else(|| mismatch(part.len()))?;
            let overlaps = |&(start, until): &(usize, usize)| *first < until && start < end;
            if taken.iter().any(overlaps) {
                return Err(Error::Overlap);
            }
            if width > 0 {
                taken.push((*first, end));
            }
        }
        let address = self.address().address;
        let to = self.as_view();
        let to = to.allocation();
        let core: &Core = &to.core;
        let kind = |core: &Core| core.backend.properties().kind;
        let foreign = parts.iter().any(|(_, part)| match part {
            Columns::Own(own) => !own.allocation().core.is(core),
            Columns::Lent(lent) => kind(&lent.memory.core) != kind(core),
        });
        if foreign || [stream, beside].iter().any(|stream| !stream.core.is(core)) {
            return Err(Error::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        }
        if parts.iter().any(|(_, part)| Arc::ptr_eq(part.memory(), to)) {
            return Err(Error::Overlap);
        }
        let what = "a copy from another device";
        let (queue, beside) = (stream.queue(what)?, beside.queue(what)?);
        if bytes(len) == 0 {
            return Ok(());
        }
        let from: Vec<&Allocation> = parts.iter().map(|(_, part)| &**part.memory()).collect();
        core.enqueue_beside([queue, beside], to, &from, |queue| {
            parts.iter().try_for_each(|(first, part)| {
                let width = bytes(part.len() / rows);
                if width == 0 {
                    return Ok(());
                }
                let (from, to) = (
                    Rows {
                        address: part.address(),
                        pitch: width,
                    },
                    Rows {
                        address: address + bytes(*first) as u64,
                        pitch: bytes(cols),
                    },
                );
                // SAFETY: the rows lie in their memory, by the checks above, which is allocated until
                // the uses that are noted have ended. Parts are in other memory than the matrix, and
                // their columns in it do not overlap.
                unsafe {
                    match part {
                        Columns::Own(_) => beside.copy_rows(from, to, width, rows),
                        Columns::Lent(lent) => {
                            let source = &*lent.memory.core.queue;
                            queue.copy_from_peer(source, from, to, width, rows)
                        }
                    }
                }
            })
        })
    }
}

/// Columns of a matrix, for [`ViewMut::gather_columns`]: their elements, row after row.
#[derive(Debug)]
pub enum Columns<'v, T: Plain> {
    /// Of the device that copies.
    Own(View<'v, T>),
    /// Of another device.
    Lent(Lent<T>),
}

impl<T: Plain> Columns<'_, T> {
    fn len(&self) -> usize {
        match self {
            Self::Own(own) => own.len(),
            Self::Lent(lent) => lent.len(),
        }
    }

    fn address(&self) -> u64 {
        match self {
            Self::Own(own) => own.address().address,
            Self::Lent(lent) => lent.address,
        }
    }

    fn memory(&self) -> &Arc<Allocation> {
        match self {
            Self::Own(own) => own.allocation(),
            Self::Lent(lent) => &lent.memory,
        }
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
