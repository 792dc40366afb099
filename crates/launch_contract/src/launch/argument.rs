//! The bytes that a launch copies into a kernel's parameters.

use core::marker::PhantomData;

/// One parameter of the PTX: the bytes that are copied into the launch.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pointer: *const u8,
    bytes: usize,
    value: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// The bytes of a value.
    pub fn new<T: Copy>(value: &'a T) -> Self {
        Self::of_value(value)
    }

    /// The bytes of a value whose type the kernel's own checks have found to be `Copy`.
    #[doc(hidden)]
    pub fn of_value<T>(value: &'a T) -> Self {
        Self {
            pointer: (&raw const *value).cast(),
            bytes: size_of::<T>(),
            value: PhantomData,
        }
    }

    /// The bytes of a slice, as one parameter.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self {
            pointer: bytes.as_ptr(),
            bytes: bytes.len(),
            value: PhantomData,
        }
    }

    /// A pointer to the bytes, valid for [`bytes`](Self::bytes) bytes while the value lives. A
    /// struct's padding is uninitialised.
    pub fn as_ptr(&self) -> *const u8 {
        self.pointer
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
