//! The element types of the operations.

use std::fmt::{Debug, Display};

use blockwise::Plain;

use crate::conv1d::Convolves;
use crate::matmul::Multiplies;
use crate::reduce::Number;
use crate::word::Word;

/// A number type that operations work on: `i32`, `u32`, `f32`, `i64`, `u64` or `f64`. Its name is
/// [`Plain::NAME`].
pub trait Element:
    sealed::Sealed + Plain + bytemuck::Pod + Default + PartialOrd + Debug + Display
{
    /// What kernels that only move data take it for: the integer of its width.
    #[doc(hidden)]
    type Word: Word;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($number:ident: $Word:ident)*) => { $(
        impl sealed::Sealed for $number {}
        impl Element for $number {
            type Word = $Word;
        }
    )* };
}
elements!(i32: u32 u32: u32 f32: u32 i64: u64 u64: u64 f64: u64);

/// The floating-point types that convolution and the matrix product have kernels for: `f32` and
/// `f64`.
pub trait Float: Number + Convolves + Multiplies {}
impl Float for f32 {}
impl Float for f64 {}
