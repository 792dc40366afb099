//! Types with the same layout on host and device.

use core::marker::PhantomData;

use super::record::{Decimal, length, text};

/// A type whose values have the same bytes on both sides: an element of a buffer, or a kernel's
/// parameter.
///
/// Numbers are plain; for a `#[repr(C)]` struct of plain fields, `#[derive(Plain)]` checks it.
///
/// # Safety
/// Every bit pattern is valid; there is no padding, pointer or reference; size and alignment are
/// the same on host and device. `NAME` identifies the layout: two types with the same name are
/// interchangeable.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's element or value: it is not `Plain`",
    note = "numbers are, and arrays of them; for a `#[repr(C)]` struct use `#[derive(Plain)]`"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// The type's name in a kernel's signature, such as `f32` or `Affine{gain:f32,bias:f32}`.
    const NAME: &'static str;
}

macro_rules! plain {
    ($($t:ident)*) => {$(
        // SAFETY: a number without padding, for which every bit pattern is valid.
        unsafe impl Plain for $t {
            const NAME: &'static str = stringify!($t);
        }
    )*};
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64);
// On a GPU these have 64 bits.
#[cfg(target_pointer_width = "64")]
plain!(usize isize);

#[cfg(feature = "half")]
// SAFETY: as for the numbers.
unsafe impl Plain for half::f16 {
    const NAME: &'static str = "f16";
}

#[cfg(feature = "half")]
// SAFETY: as for the numbers.
unsafe impl Plain for half::bf16 {
    const NAME: &'static str = "bf16";
}

/// A type that a safe kernel takes by value: a plain one, `bool` or `char`, which the launch copies
/// from a valid value. `bool` and `char` cannot be elements, because memory may hold other bits.
///
/// # Safety
/// A value has the same bytes on host and device, and no padding, pointer or reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's value: it is not `Plain`",
    note = "numbers are, arrays of them, `bool` and `char`; the compiler may lay out a tuple or a Rust struct otherwise on the device: \
            use a `#[repr(C)]` struct with `#[derive(Plain)]`",
    note = "memory is no value: write `x: &[f32]` for an input, `mut y: Out<f32>` for an output, and launch with `&buffer`, `&mut buffer`"
)]
pub unsafe trait Value: Copy + 'static {}

// SAFETY: a plain type's values are these.
unsafe impl<T: Plain> Value for T {}
// SAFETY: one byte, 0 or 1.
unsafe impl Value for bool {}
// SAFETY: the four bytes of its code point.
unsafe impl Value for char {}

/// Compiles for types of values only.
#[doc(hidden)]
pub const fn is_value<T: Value>() {}

/// Compiles for plain types only.
#[doc(hidden)]
pub const fn is_plain<T: Plain>() {}

// SAFETY: elements without padding have none between them. The name says how many.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const NAME: &'static str = text(
        ArrayName::<T, N>::BYTES
            .0
            .split_at(ArrayName::<T, N>::BYTES.1)
            .0,
    );
}

/// `[f32;4]`, in a fixed buffer, because a constant of a generic type cannot choose its length.
struct ArrayName<T, const N: usize>(PhantomData<T>);

impl<T: Plain, const N: usize> ArrayName<T, N> {
    const BYTES: ([u8; MOST], usize) = {
        let parts = ["[", T::NAME, ";", Decimal::<N>::TEXT, "]"];
        assert!(
            length(&parts) <= MOST,
            "the name of an array's element is too long: name the array by a struct of its own"
        );
        let (mut bytes, mut at, mut part) = ([0; MOST], 0, 0);
        while part < parts.len() {
            let from = parts[part].as_bytes();
            let mut byte = 0;
            while byte < from.len() {
                bytes[at] = from[byte];
                (at, byte) = (at + 1, byte + 1);
            }
            part += 1;
        }
        (bytes, at)
    };
}

/// The longest name of an array.
const MOST: usize = 512;
