//! Memory whose element type is known when the program runs.
//!
//! Code for every element type is compiled once with these types; for a launch, [`AnyView::plain`]
//! gives a view of the type that the kernel declares.

use std::ops::RangeBounds;

use launch_contract::Type;
use launch_contract::launch::Plain;

use crate::buffer::bounds;
use crate::{Buffer, Device, Error, Result, View, ViewMut};

/// A Rust type with a [`Type`]. `bool` and `f16` have no Rust type here: they are passed as bytes
/// and 16-bit words.
pub trait Typed: Plain + sealed::Sealed {
    /// The element type.
    const TYPE: Type;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! typed {
    ($($t:ident $Type:ident),*) => { $(
        impl sealed::Sealed for $t {}
        impl Typed for $t {
            const TYPE: Type = Type::$Type;
        }
    )* };
}
typed!(i8 I8, i16 I16, i32 I32, i64 I64, u8 U8, u16 U16, u32 U32, u64 U64, f32 F32, f64 F64);

/// Elements on a device, for reading.
#[derive(Clone, Copy, Debug)]
pub struct AnyView<'a> {
    bytes: View<'a, u8>,
    ty: Type,
}

/// Elements on a device, for writing; the borrow is exclusive.
#[derive(Debug)]
pub struct AnyViewMut<'a> {
    bytes: ViewMut<'a, u8>,
    ty: Type,
}

/// Elements on a device, freed on drop.
#[derive(Debug)]
pub struct AnyBuffer {
    bytes: Buffer<u8>,
    ty: Type,
}

impl<'a> AnyView<'a> {
    /// The elements' type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.ty.bytes()
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the first element's address is a multiple of `bytes`.
    pub fn is_aligned(&self, bytes: u64) -> bool {
        self.bytes.address().address.is_multiple_of(bytes)
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// When the range is not inside the view, as for a slice.
    #[track_caller]
    pub fn view(self, range: impl RangeBounds<usize>) -> Self {
        let (first, len) = bounds(&range, self.len());
        let width = self.ty.bytes();
        let bytes = self.bytes.view(first * width..(first + len) * width);
        Self { bytes, ..self }
    }

    /// The same elements as another type of the same width.
    pub fn retyped(self, ty: Type) -> Option<Self> {
        (ty.bytes() == self.ty.bytes()).then_some(Self { ty, ..self })
    }

    /// The same bytes as elements of the type that a kernel declares.
    ///
    /// # Errors
    /// When they are not a whole number of `P`, or the address is not aligned for it.
    pub fn plain<P: Plain>(self) -> Result<View<'a, P>> {
        self.bytes.cast()
    }

    /// Copies the elements' bytes from the device, after all launches so far.
    ///
    /// # Errors
    /// When the lengths differ, the copy fails, or an earlier launch has failed.
    pub fn copy_to_slice(&self, bytes: &mut [u8]) -> Result<()> {
        self.bytes.copy_to_slice(bytes)
    }
}

impl<'a, T: Typed> From<View<'a, T>> for AnyView<'a> {
    fn from(view: View<'a, T>) -> Self {
        let (bytes, ty) = (view.into_bytes(), T::TYPE);
        Self { bytes, ty }
    }
}

impl<'a, T: Typed> From<ViewMut<'a, T>> for AnyViewMut<'a> {
    fn from(view: ViewMut<'a, T>) -> Self {
        let (bytes, ty) = (view.into_bytes(), T::TYPE);
        Self { bytes, ty }
    }
}

impl<'a> AnyViewMut<'a> {
    /// The elements' type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.ty.bytes()
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the first element's address is a multiple of `bytes`.
    pub fn is_aligned(&self, bytes: u64) -> bool {
        self.bytes.address().address.is_multiple_of(bytes)
    }

    /// The elements, temporarily for reading.
    pub fn as_view(&self) -> AnyView<'_> {
        AnyView {
            bytes: self.bytes.as_view(),
            ty: self.ty,
        }
    }

    /// The elements, temporarily for writing.
    pub fn as_view_mut(&mut self) -> AnyViewMut<'_> {
        AnyViewMut {
            bytes: self.bytes.as_view_mut(),
            ty: self.ty,
        }
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// When the range is not inside the view, as for a slice.
    #[track_caller]
    pub fn into_view_mut(self, range: impl RangeBounds<usize>) -> Self {
        let (first, len) = bounds(&range, self.len());
        let width = self.ty.bytes();
        let bytes = (self.bytes).into_view_mut(first * width..(first + len) * width);
        Self { bytes, ..self }
    }

    /// The same elements as another type of the same width.
    pub fn retyped(self, ty: Type) -> Option<Self> {
        (ty.bytes() == self.ty.bytes()).then_some(Self { ty, ..self })
    }

    /// The same bytes as elements of the type that a kernel declares.
    ///
    /// # Errors
    /// As for [`AnyView::plain`].
    pub fn plain<P: Plain>(self) -> Result<ViewMut<'a, P>> {
        self.bytes.cast()
    }

    /// Copies the bytes of elements to the device, after all launches so far.
    ///
    /// # Errors
    /// When the lengths differ or the copy fails.
    pub fn copy_from_slice(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.copy_from_slice(bytes)
    }
}

impl AnyBuffer {
    /// Allocates `len` elements with every byte set to `value`.
    ///
    /// # Errors
    /// When the device lacks memory, or fails.
    pub fn filled(device: &Device, ty: Type, len: usize, value: u8) -> Result<Self> {
        let bytes = len.checked_mul(ty.bytes()).ok_or(Error::TooLarge {
            len,
            element_bytes: ty.bytes(),
        })?;
        let bytes = device.filled(bytes, value)?;
        Ok(Self { bytes, ty })
    }

    /// Copies the bytes of elements to the device.
    ///
    /// # Errors
    /// When they are not whole elements, the device lacks memory, or the copy fails.
    pub fn upload(device: &Device, ty: Type, bytes: &[u8]) -> Result<Self> {
        if !bytes.len().is_multiple_of(ty.bytes()) {
            return Err(Error::Cast {
                from: u8::NAME,
                to: ty.name(),
            });
        }
        let bytes = device.upload(bytes)?;
        Ok(Self { bytes, ty })
    }

    /// The elements' type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.ty.bytes()
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sets every byte to `value`, ordered with the launches.
    ///
    /// # Errors
    /// When the device fails.
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        self.bytes.fill_bytes(value)
    }

    /// All elements, for reading.
    pub fn as_view(&self) -> AnyView<'_> {
        AnyView {
            bytes: self.bytes.as_view(),
            ty: self.ty,
        }
    }

    /// All elements, for writing.
    pub fn as_view_mut(&mut self) -> AnyViewMut<'_> {
        AnyViewMut {
            bytes: self.bytes.as_view_mut(),
            ty: self.ty,
        }
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_type_and_bytes() {
        let device = Device::emulator();
        let values = [1.5_f64, -2.0, 3.25];
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let buffer = AnyBuffer::upload(&device, Type::F64, &bytes).unwrap();
        assert_eq!((buffer.ty(), buffer.len()), (Type::F64, 3));
        let tail = buffer.as_view().view(1..);
        assert_eq!(tail.plain::<f64>().unwrap().to_vec().unwrap(), values[1..]);
        assert_eq!(tail.plain::<u32>().unwrap().len(), 4);
        assert!(tail.is_aligned(8) && !tail.is_aligned(16));
    }

    #[test]
    fn what_is_no_whole_number_of_elements_or_not_aligned_is_refused() {
        let device = Device::emulator();
        let bytes = AnyBuffer::upload(&device, Type::U8, &[0; 10]).unwrap();
        let view = bytes.as_view();
        assert!(matches!(view.plain::<u32>(), Err(Error::Cast { .. })));
        assert!(view.view(..8).plain::<u32>().is_ok());
        let nothing = AnyBuffer::upload(&device, Type::U8, &[]).unwrap();
        let none = nothing.as_view().plain::<u64>().unwrap();
        assert!(none.is_empty() && none.address().address.is_multiple_of(8));
        assert!(matches!(
            view.view(1..9).plain::<u64>(),
            Err(Error::Cast { .. })
        ));
        assert!(AnyBuffer::upload(&device, Type::I16, &[0; 3]).is_err());
        assert!(AnyBuffer::filled(&device, Type::F64, usize::MAX, 0).is_err());
    }
}
