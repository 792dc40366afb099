//! Memory on a device.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::sync::Arc;

use super::backend::Backend;
use super::{Device, DeviceError};

/// A number type that kernels work on: `i32`, `u32`, `f32`, `i64`, `u64` or `f64`, so of 4 or 8 bytes.
pub trait Element:
    sealed::Sealed + bytemuck::Pod + Default + PartialOrd + Debug + Display + Send + Sync
{
    /// The type's name in Rust, which ends the names of the kernels for it.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($number:ident),*) => { $(
        impl sealed::Sealed for $number {}
        impl Element for $number {
            const NAME: &'static str = stringify!($number);
        }
    )* };
}
elements!(i32, u32, f32, i64, u64, f64);

/// What [`DeviceBuffer::poison`] writes: as floats these are NaN, as integers −1 or the largest, all easy to see.
pub(super) const POISON: u8 = 0xFF;

/// Memory for `len` elements on a device. It keeps the device alive and is given back when dropped.
pub struct DeviceBuffer<T: Element> {
    backend: Arc<dyn Backend>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> DeviceBuffer<T> {
    /// Takes memory for `len` elements. Their values are undefined.
    ///
    /// # Errors
    /// When the device has no room for them.
    pub fn alloc(device: &Device, len: usize) -> Result<Self, DeviceError> {
        let backend = Arc::clone(&device.backend);
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| bytes <= isize::MAX as usize);
        let address = match bytes {
            None => {
                return Err(DeviceError::TooLarge {
                    len,
                    element_bytes: size_of::<T>(),
                });
            }
            // An empty slice needs an address too: any that is aligned and not null.
            Some(0) => align_of::<T>() as u64,
            Some(bytes) => backend.alloc(bytes as u64)?,
        };
        Ok(Self {
            backend,
            address,
            len,
            element: PhantomData,
        })
    }

    /// Copies `values` into new memory of the device.
    ///
    /// # Errors
    /// When the device has no room for them, or the copy fails.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Self, DeviceError> {
        let mut buffer = Self::alloc(device, values.len())?;
        buffer.copy_from_slice(values)?;
        Ok(buffer)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Copies `values` to the device.
    ///
    /// # Errors
    /// When the lengths differ or the copy fails.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<(), DeviceError> {
        if values.len() != self.len {
            return Err(DeviceError::LengthMismatch {
                buffer: self.len,
                given: values.len(),
            });
        }
        if self.is_empty() {
            return Ok(());
        }
        self.backend
            .write(self.address, bytemuck::cast_slice(values))
    }

    /// Copies the elements from the device, after all launches so far.
    ///
    /// # Errors
    /// When the host has no memory for them or the copy fails.
    pub fn copy_to_vec(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = Vec::new();
        values
            .try_reserve_exact(self.len)
            .map_err(|_| DeviceError::OutOfHostMemory {
                bytes: self.bytes() as u64,
            })?;
        values.resize(self.len, T::default());
        if !self.is_empty() {
            self.backend
                .read(self.address, bytemuck::cast_slice_mut(&mut values))?;
        }
        Ok(values)
    }

    /// Copies the elements of another buffer of the same device, in order with the launches.
    ///
    /// # Errors
    /// When the lengths or the devices differ, or the copy fails.
    pub fn copy_from_buffer(&mut self, from: &Self) -> Result<(), DeviceError> {
        if from.len != self.len {
            return Err(DeviceError::LengthMismatch {
                buffer: self.len,
                given: from.len,
            });
        }
        if !std::ptr::addr_eq(Arc::as_ptr(&from.backend), Arc::as_ptr(&self.backend)) {
            return Err(DeviceError::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        }
        if self.is_empty() {
            return Ok(());
        }
        self.backend.copy(from.address, self.address, self.bytes())
    }

    /// Fills the memory with bytes of 0xFF, so that an element that a kernel forgets to write shows.
    ///
    /// # Errors
    /// When the device fails.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        if self.is_empty() {
            return Ok(());
        }
        self.backend.fill(self.address, self.bytes(), POISON)
    }

    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

impl<T: Element> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if !self.is_empty() {
            self.backend.free(self.address);
        }
    }
}

impl<T: Element> Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "DeviceBuffer<{}>({} at {:#x})",
            T::NAME,
            self.len,
            self.address
        )
    }
}
