//! Borrowed ranges of device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use launch_contract::launch::{
    DevicePointer, Memory, Plain, Pointer, Read, ReadPointer, Write, WritePointer,
};

use crate::backend::Rows;
use crate::buffer::bounds;
use crate::memory::Allocation;
use crate::{Error, Result, Stream};

/// Contiguous elements of a [`Buffer`](crate::Buffer), for reading.
pub struct View<'a, T: Plain> {
    span: Span<'a, T>,
}

/// Contiguous elements of a [`Buffer`](crate::Buffer), for writing; the borrow is exclusive.
pub struct ViewMut<'a, T: Plain> {
    span: Span<'a, T>,
}

/// `len` elements starting at `address`, inside the memory.
struct Span<'a, T> {
    memory: &'a Arc<Allocation>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

impl<'a, T: Plain> Span<'a, T> {
    #[track_caller]
    fn part(self, range: &impl RangeBounds<usize>) -> Self {
        let (start, len) = bounds(range, self.len);
        Self {
            address: self.address + (start * size_of::<T>()) as u64,
            len,
            ..self
        }
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn cast<U: Plain>(self) -> Result<Span<'a, U>> {
        let len = match (size_of::<T>(), size_of::<U>()) {
            (from, to) if from == to => Some(self.len),
            (_, 0) => None,
            (_, to) => self.bytes().is_multiple_of(to).then(|| self.bytes() / to),
        };
        let align = align_of::<U>() as u64;
        // Nothing may lie anywhere, but a slice of it has an aligned address.
        let address = match self.bytes() {
            0 => self.address.next_multiple_of(align),
            _ => self.address,
        };
        let Some(len) = len.filter(|_| address.is_multiple_of(align)) else {
            return Err(Error::Cast {
                from: T::NAME,
                to: U::NAME,
            });
        };
        Ok(Span {
            memory: self.memory,
            address,
            len,
            element: PhantomData,
        })
    }

    fn into_bytes(self) -> Span<'a, u8> {
        Span {
            memory: self.memory,
            address: self.address,
            len: self.bytes(),
            element: PhantomData,
        }
    }

    fn memory(self, written: bool) -> Memory<'a> {
        Memory {
            address: self.address,
            len: self.len as u64,
            owner: self.memory,
            written,
        }
    }

    fn read(self, values: &mut [T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::LengthMismatch {
                buffer: self.len,
                given: values.len(),
            });
        }
        let bytes = self.bytes();
        if bytes > 0 {
            // SAFETY: they are initialised, and any bytes are valid values of a plain type.
            let room = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) };
            // SAFETY: the span is inside its memory.
            unsafe { self.memory.core.read(self.memory, self.address, room)? };
        }
        Ok(())
    }

    fn to_vec(self) -> Result<Vec<T>> {
        let mut values = Vec::<T>::new();
        values
            .try_reserve_exact(self.len)
            .map_err(|_| Error::OutOfHostMemory {
                bytes: self.bytes() as u64,
            })?;
        let bytes = self.bytes();
        if bytes > 0 {
            let start = values.as_mut_ptr().cast::<u8>();
            // SAFETY: there is capacity for `len` elements, and zeros are valid bytes; the device
            // overwrites all of them.
            let room = unsafe {
                start.write_bytes(0, bytes);
                std::slice::from_raw_parts_mut(start, bytes)
            };
            // SAFETY: the span is inside its memory.
            unsafe { self.memory.core.read(self.memory, self.address, room)? };
        }
        // SAFETY: all bytes were written, and any bytes are valid values of a plain type.
        unsafe { values.set_len(self.len) };
        Ok(values)
    }
}

impl<'a, T: Plain> View<'a, T> {
    pub(crate) fn new(memory: &'a Arc<Allocation>, first: usize, len: usize) -> Self {
        let span = Span {
            memory,
            address: memory.address + (first * size_of::<T>()) as u64,
            len,
            element: PhantomData,
        };
        Self { span }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the first element.
    pub fn address(&self) -> DevicePointer<T> {
        DevicePointer::new(self.span.address)
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// When the range is not inside the view, as for a slice.
    #[track_caller]
    pub fn view(self, range: impl RangeBounds<usize>) -> View<'a, T> {
        let span = self.span.part(&range);
        Self { span }
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// When the bytes are not a whole number of `U`, or the address is not aligned for it.
    pub fn cast<U: Plain>(self) -> Result<View<'a, U>> {
        let span = self.span.cast()?;
        Ok(View { span })
    }

    /// Copies the elements from the device, after all launches so far.
    ///
    /// # Errors
    /// If the host lacks memory for them, the copy fails, or an earlier launch has failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.span.to_vec()
    }

    pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
        self.span.memory
    }

    /// The elements' bytes.
    pub fn into_bytes(self) -> View<'a, u8> {
        let span = self.span.into_bytes();
        View { span }
    }

    /// Copies the elements from the device into `values`, after all launches so far.
    ///
    /// # Errors
    /// When the lengths differ, the copy fails, or an earlier launch has failed.
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<()> {
        self.span.read(values)
    }
}

impl<'a, T: Plain> ViewMut<'a, T> {
    pub(crate) fn new(memory: &'a Arc<Allocation>, first: usize, len: usize) -> Self {
        let span = View::new(memory, first, len).span;
        Self { span }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the first element.
    pub fn address(&self) -> DevicePointer<T> {
        DevicePointer::new(self.span.address)
    }

    /// The elements, temporarily for reading.
    pub fn as_view(&self) -> View<'_, T> {
        View { span: self.span }
    }

    /// The elements, temporarily for writing.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut { span: self.span }
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// When the range is not inside the view, as for a slice.
    #[track_caller]
    pub fn into_view_mut(self, range: impl RangeBounds<usize>) -> ViewMut<'a, T> {
        let span = self.span.part(&range);
        Self { span }
    }

    /// The elements before `middle` and those from it on.
    ///
    /// # Panics
    /// When `middle` is beyond the end, as for a slice.
    #[track_caller]
    pub fn split_at_mut(self, middle: usize) -> (ViewMut<'a, T>, ViewMut<'a, T>) {
        let (before, after) = (self.span.part(&..middle), self.span.part(&(middle..)));
        (Self { span: before }, Self { span: after })
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// When the bytes are not a whole number of `U`, or the address is not aligned for it.
    pub fn cast<U: Plain>(self) -> Result<ViewMut<'a, U>> {
        let span = self.span.cast()?;
        Ok(ViewMut { span })
    }

    /// The elements' bytes.
    pub fn into_bytes(self) -> ViewMut<'a, u8> {
        let span = self.span.into_bytes();
        ViewMut { span }
    }

    /// Copies the elements from the device, after all launches so far.
    ///
    /// # Errors
    /// If the host lacks memory for them, the copy fails, or an earlier launch has failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.span.to_vec()
    }

    /// Copies `values` to the device, after all launches so far.
    ///
    /// # Errors
    /// When the lengths differ or the copy fails.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        if self.span.bytes() == 0 {
            return Ok(());
        }
        // SAFETY: values of a plain type have no padding, so all their bytes are initialised.
        let bytes =
            unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        let Span {
            memory, address, ..
        } = self.span;
        // SAFETY: the span is inside its memory.
        unsafe { memory.core.write(memory, address, bytes) }
    }

    /// Copies other elements of the same device, in order with the launches.
    ///
    /// # Errors
    /// When the lengths or the devices differ, or the copy fails.
    pub fn copy_from(&mut self, from: View<'_, T>) -> Result<()> {
        self.check_len(from.len())?;
        let (to, from) = (self.span, from.span);
        let core = &to.memory.core;
        if !core.is(&from.memory.core) {
            return Err(Error::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        }
        if to.bytes() == 0 {
            return Ok(());
        }
        let uses = [(&**to.memory, true), (&**from.memory, false)];
        core.enqueue(&core.queue, uses.into_iter(), |queue| {
            // SAFETY: both spans lie in their memory; one of them is borrowed exclusively, so they
            // don't overlap.
            unsafe { queue.copy(from.address, to.address, to.bytes()) }
        })
    }

    /// Copies a matrix of the same device, in order with the launches: rows of `width` elements
    /// that begin every `pitch` elements here and every `from_pitch` elements there. Elements
    /// between the rows are unchanged.
    ///
    /// # Errors
    /// When either side has no room for such rows, the devices differ, or the copy fails.
    pub fn copy_rows(
        &mut self,
        pitch: usize,
        from: View<'_, T>,
        from_pitch: usize,
        shape: [usize; 2],
    ) -> Result<()> {
        self.copy_rows_on(None, pitch, from, from_pitch, shape)
    }

    /// The same on a stream, or on the device's own queue.
    ///
    /// # Errors
    /// As for [`copy_rows`](Self::copy_rows), and a stream of another device or one that is being
    /// recorded.
    pub fn copy_rows_on(
        &mut self,
        stream: Option<&Stream>,
        pitch: usize,
        from: View<'_, T>,
        from_pitch: usize,
        [rows, width]: [usize; 2],
    ) -> Result<()> {
        if rows == 0 || width == 0 {
            return Ok(());
        }
        for (len, pitch) in [(self.len(), pitch), (from.len(), from_pitch)] {
            let needed = (rows - 1)
                .checked_mul(pitch)
                .and_then(|before| before.checked_add(width));
            if needed.is_none_or(|needed| needed > len) || (pitch < width && rows > 1) {
                let given = needed.unwrap_or(usize::MAX);
                return Err(Error::LengthMismatch { buffer: len, given });
            }
        }
        let (to, from) = (self.span, from.span);
        let core = &to.memory.core;
        let foreign = stream.is_some_and(|stream| !stream.core.is(core));
        if foreign || !core.is(&from.memory.core) {
            return Err(Error::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        }
        let queue = stream.map_or(Ok(&core.queue), |stream| stream.queue("a copy"))?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        let uses = [(&**to.memory, true), (&**from.memory, false)];
        core.enqueue(queue, uses.into_iter(), |queue| {
            if rows == 1 || [pitch, from_pitch] == [width; 2] {
                let bytes = rows * width * size_of::<T>();
                // SAFETY: both spans hold their rows, by the check above; one of them is borrowed
                // exclusively, so they don't overlap.
                return unsafe { queue.copy(from.address, to.address, bytes) };
            }
            // With several rows a pitch is at most the length, so nothing here overflows.
            let rows_at = |address, pitch| Rows {
                address,
                pitch: pitch * size_of::<T>(),
            };
            let (from, to) = (
                rows_at(from.address, from_pitch),
                rows_at(to.address, pitch),
            );
            // SAFETY: as above.
            unsafe { queue.copy_rows(from, to, width * size_of::<T>(), rows) }
        })
    }

    fn check_len(&self, given: usize) -> Result<()> {
        if given != self.len() {
            return Err(Error::LengthMismatch {
                buffer: self.len(),
                given,
            });
        }
        Ok(())
    }
}

impl<T: Plain> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Plain> Copy for View<'_, T> {}

// SAFETY: the allocation contains the span as long as it lives.
unsafe impl<'a, T: Plain> Read<'a, [T]> for View<'a, T> {
    fn pass(self) -> Memory<'a> {
        self.span.memory(false)
    }
}

// SAFETY: as above.
unsafe impl<'a, T: Plain> Read<'a, [T]> for ViewMut<'a, T> {
    fn pass(self) -> Memory<'a> {
        self.span.memory(false)
    }
}

// SAFETY: as above; a mutable view is the only way to its elements.
unsafe impl<'a, T: Plain> Write<'a, [T]> for ViewMut<'a, T> {
    fn pass(self) -> Memory<'a> {
        self.span.memory(true)
    }
}

impl<'a, T: Plain> ReadPointer<'a, T> for View<'a, T> {
    fn pass(self) -> Pointer<'a> {
        Read::pass(self).into()
    }
}

impl<'a, T: Plain> WritePointer<'a, T> for ViewMut<'a, T> {
    fn pass(self) -> Pointer<'a> {
        Write::pass(self).into()
    }
}

impl<T: Plain> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { address, len, .. } = self.span;
        write!(f, "View<{}>({len} at {address:#x})", T::NAME)
    }
}

impl<T: Plain> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { address, len, .. } = self.span;
        write!(f, "ViewMut<{}>({len} at {address:#x})", T::NAME)
    }
}
