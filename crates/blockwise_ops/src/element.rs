//! The element types of the operations.

use std::fmt::{Debug, Display};

use blockwise::Typed;

use crate::reduce::Number;

/// A number type that operations work on. Its name is [`Plain::NAME`](blockwise::Plain::NAME).
pub trait Element: Typed + bytemuck::Pod + Default + PartialOrd + Debug + Display {}

macro_rules! elements {
    ($($number:ident)*) => { $(
        impl Element for $number {}
    )* };
}
elements!(i8 u8 i16 u16 i32 u32 f32 i64 u64 f64);

/// The floating-point types that convolution and the matrix product have kernels for: `f32` and
/// `f64`.
pub trait Float: Number {}
impl Float for f32 {}
impl Float for f64 {}
