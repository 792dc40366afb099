//! Memory on a device.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use launch_contract::launch::{
    DevicePointer, Memory, Plain, Pointer, Read, ReadPointer, Write, WritePointer,
};

use crate::memory::{Allocation, Core};
use crate::stream::Stream;
use crate::unused::NOWHERE;
use crate::{Error, Result, View, ViewMut};

/// `len` elements of `T` on a device. Keeps its device alive.
///
/// A dropped buffer's memory serves later ones. Unused memory above 64 MiB is freed when the host
/// next waits for the device, and all of it when memory is short.
///
/// Uses of one buffer on several streams are ordered automatically: a read after earlier writes, a
/// write after all earlier uses.
pub struct Buffer<T: Plain> {
    pub(crate) memory: Arc<Allocation>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Plain> Buffer<T> {
    /// Uninitialised memory. The caller writes it before handing it out.
    pub(crate) fn alloc(core: &Arc<Core>, len: usize) -> Result<Self> {
        check_alignment::<T>(ALIGNMENT)?;
        let memory = Allocation::of(core, bytes_of::<T>(len)?)?;
        Ok(Self::of(memory, len))
    }

    /// Memory that another library frees.
    ///
    /// # Safety
    /// There are `len` elements at the address, which outlive the buffer and the work that uses it.
    pub(crate) unsafe fn foreign(core: &Arc<Core>, address: u64, len: usize) -> Result<Self> {
        let bytes = bytes_of::<T>(len)?;
        let address = if bytes == 0 { NOWHERE } else { address };
        let given = 1 << address.trailing_zeros().min(ALIGNMENT.trailing_zeros());
        check_alignment::<T>(given)?;
        // SAFETY: the caller's promise.
        let memory = unsafe { Allocation::foreign(core, address, bytes) };
        Ok(Self::of(memory, len))
    }

    fn of(memory: Allocation, len: usize) -> Self {
        Self {
            memory: Arc::new(memory),
            len,
            element: PhantomData,
        }
    }

    /// Memory with every byte set to `value`, on a stream or on the device's own queue.
    pub(crate) fn filled(
        core: &Arc<Core>,
        stream: Option<&Stream>,
        len: usize,
        value: u8,
    ) -> Result<Self> {
        let mut buffer = Self::alloc(core, len)?;
        buffer.fill_bytes_on(stream, value)?;
        Ok(buffer)
    }

    /// The same elements in memory that nothing else can write: a [`Graph`](crate::Graph) owns
    /// the memory of its launches, and may be replayed later. Copied only if there is one.
    pub(crate) fn detached(self) -> Result<Self> {
        if Arc::strong_count(&self.memory) == 1 && !self.memory.is_foreign {
            return Ok(self);
        }
        let mut copy = Self::alloc(&self.memory.core, self.len)?;
        copy.copy_from_buffer(&self)?;
        Ok(copy)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address on the device, for `unsafe` kernels and other libraries.
    ///
    /// Uses of the memory by its address alone are not tracked. They must come after the work that
    /// is enqueued already, uploads and fills included, and end before the buffer is dropped,
    /// because its memory then serves the next buffer. [`Stream::enqueue_foreign`] ensures both.
    pub fn address(&self) -> DevicePointer<T> {
        DevicePointer::new(self.memory.address)
    }

    /// Copies `values` to the device.
    ///
    /// # Errors
    /// When the lengths differ or the copy fails.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<()> {
        self.as_view_mut().copy_from_slice(values)
    }

    /// Copies the elements from the device, after all launches so far.
    ///
    /// # Errors
    /// When the host lacks memory for them, the copy fails, or an earlier launch has failed.
    #[doc(alias = "cudaMemcpy")]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    /// Copies the elements of another buffer of the same device, in order with the launches.
    ///
    /// # Errors
    /// When the lengths or the devices differ, or the copy fails.
    pub fn copy_from_buffer(&mut self, from: &Self) -> Result<()> {
        self.as_view_mut().copy_from(from.as_view())
    }

    /// Sets every byte to `value`, ordered with the launches. `0xFF` makes elements visible that a
    /// kernel does not write: they are NaN as floats.
    ///
    /// # Errors
    /// When the device fails.
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        self.fill_bytes_on(None, value)
    }

    /// The same on a stream; `None` is the device's own queue.
    ///
    /// # Errors
    /// When the device fails, or the stream is another device's.
    pub fn fill_bytes_on(&mut self, stream: Option<&Stream>, value: u8) -> Result<()> {
        crate::stream::fill(&self.memory, stream, value)
    }

    /// All elements, for reading.
    pub fn as_view(&self) -> View<'_, T> {
        View::new(&self.memory, 0, self.len)
    }

    /// All elements, for writing.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut::new(&self.memory, 0, self.len)
    }

    /// A range of elements, for reading.
    ///
    /// # Panics
    /// When the range is not inside the buffer, as for a slice.
    pub fn view(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        self.as_view().view(range)
    }

    /// A range of elements, for writing.
    ///
    /// # Panics
    /// When the range is not inside the buffer, as for a slice.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        self.as_view_mut().into_view_mut(range)
    }

    /// The elements before `middle` and those from it on, both for writing.
    ///
    /// # Panics
    /// When `middle` is beyond the end, as for a slice.
    pub fn split_at_mut(&mut self, middle: usize) -> (ViewMut<'_, T>, ViewMut<'_, T>) {
        self.as_view_mut().split_at_mut(middle)
    }
}

/// Alignment in bytes of allocations on both devices.
const ALIGNMENT: usize = 256;

/// The size of `len` elements, which fits in `isize`.
fn bytes_of<T: Plain>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        // Kernels count zero-sized elements with the same arithmetic.
        .filter(|&bytes| bytes.max(len) <= isize::MAX as usize)
        .ok_or(Error::TooLarge {
            len,
            element_bytes: size_of::<T>(),
        })
}

/// Refuses elements whose alignment exceeds the memory's.
pub(crate) fn check_alignment<T: Plain>(given: usize) -> Result<()> {
    let needed = align_of::<T>();
    if needed > given {
        return Err(Error::Alignment {
            element: T::NAME,
            needed,
            given,
        });
    }
    Ok(())
}

/// First element and length of a range of `len` elements.
#[track_caller]
pub(crate) fn bounds(range: &impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let beyond = || -> ! { panic!("the range reaches beyond the {len} elements of the memory") };
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).unwrap_or_else(|| beyond()),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).unwrap_or_else(|| beyond()),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start > end || end > len {
        beyond();
    }
    (start, end - start)
}

// SAFETY: the allocation has `len` elements as long as it lives.
unsafe impl<'a, T: Plain> Read<'a, [T]> for &'a Buffer<T> {
    fn pass(self) -> Memory<'a> {
        Read::pass(self.as_view())
    }
}

// SAFETY: as above.
unsafe impl<'a, T: Plain> Read<'a, [T]> for &'a mut Buffer<T> {
    fn pass(self) -> Memory<'a> {
        Read::pass(&*self)
    }
}

// SAFETY: as above; the exclusive borrow excludes others.
unsafe impl<'a, T: Plain> Write<'a, [T]> for &'a mut Buffer<T> {
    fn pass(self) -> Memory<'a> {
        Write::pass(self.as_view_mut())
    }
}

impl<'a, T: Plain> ReadPointer<'a, T> for &'a Buffer<T> {
    fn pass(self) -> Pointer<'a> {
        Read::pass(self).into()
    }
}

impl<'a, T: Plain> ReadPointer<'a, T> for &'a mut Buffer<T> {
    fn pass(self) -> Pointer<'a> {
        Read::pass(self).into()
    }
}

impl<'a, T: Plain> WritePointer<'a, T> for &'a mut Buffer<T> {
    fn pass(self) -> Pointer<'a> {
        Write::pass(self).into()
    }
}

impl<'a, T: Plain> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_view()
    }
}

impl<'a, T: Plain> From<&'a mut Buffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.as_view_mut()
    }
}

impl<T: Plain> Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.memory.address;
        write!(f, "Buffer<{}>({} at {address:#x})", T::NAME, self.len)
    }
}
