//! An array whose element type is known when the program runs.

use blockwise::{Error, Type, Typed};
use bytemuck::Pod;
use half::f16;
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::LaunchError;

/// Elements of a [`Type`] in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyArray {
    ty: Type,
    shape: Vec<usize>,
    len: usize,
    /// The elements' bytes, aligned for every type, and zeros up to a whole word.
    words: Vec<u64>,
}

/// A number of any element type, without rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an integer type; false is 0, true is 1.
    Integer(i128),
    /// Of a floating-point type.
    Float(f64),
}

impl AnyArray {
    /// An array of zeros.
    ///
    /// # Errors
    /// When the number of elements overflows 64 bits, or the host lacks memory.
    pub fn zeros(ty: Type, shape: &[usize]) -> Result<Self, LaunchError> {
        let len = len_of(shape)?;
        let what = "an array";
        let bytes = len.checked_mul(ty.bytes());
        let bytes = bytes.ok_or(LaunchError::SizeOverflow { what })?;
        let count = bytes.div_ceil(size_of::<u64>());
        // The system's zeroed pages: they take no time until they are written, perhaps by several
        // threads.
        let words = bytemuck::allocation::try_zeroed_vec(count);
        let words = words.map_err(|()| Error::OutOfHostMemory {
            bytes: bytes as u64,
        })?;
        Ok(Self {
            ty,
            shape: shape.to_vec(),
            len,
            words,
        })
    }

    /// The array's elements, copied.
    ///
    /// # Errors
    /// When the host lacks memory.
    pub fn of<T: Typed + Pod>(view: ArrayViewD<'_, T>) -> Result<Self, LaunchError> {
        let mut array = Self::zeros(T::TYPE, view.shape())?;
        let to: &mut [T] = bytemuck::cast_slice_mut(array.bytes_mut());
        match view.as_slice() {
            Some(values) => to.copy_from_slice(values),
            None => (to.iter_mut().zip(view)).for_each(|(to, &value)| *to = value),
        }
        Ok(array)
    }

    /// The elements' type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The shape, outermost dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements' bytes, in the machine's own order.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len * self.ty.bytes()]
    }

    /// The same, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.len * self.ty.bytes();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..bytes]
    }

    /// The elements as words of the same width, whatever their type.
    pub(crate) fn words<W: Pod>(&self) -> &[W] {
        debug_assert_eq!(size_of::<W>(), self.ty.bytes());
        bytemuck::cast_slice(self.bytes())
    }

    /// The elements, if they are of this type.
    pub fn typed<T: Typed + Pod>(&self) -> Option<&[T]> {
        (self.ty == T::TYPE).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The elements as an array of this type, if they are of it.
    pub fn into_typed<T: Typed + Pod>(self) -> Option<ArrayD<T>> {
        let values = self.typed()?.to_vec();
        ArrayD::from_shape_vec(IxDyn(&self.shape), values).ok()
    }

    /// The same elements in another shape, if it has as many.
    pub fn reshaped(self, shape: &[usize]) -> Option<Self> {
        let same = len_of(shape).is_ok_and(|len| len == self.len);
        let shape = shape.to_vec();
        same.then_some(Self { shape, ..self })
    }

    /// The same bytes as elements of another type of the same width.
    pub fn retyped(self, ty: Type) -> Option<Self> {
        (ty.bytes() == self.ty.bytes()).then_some(Self { ty, ..self })
    }

    /// The same numbers in another type, floats as the nearest ones; `None` if it lacks one of the
    /// integers.
    ///
    /// # Errors
    /// Those of [`zeros`](Self::zeros).
    pub fn converted(self, ty: Type) -> Result<Option<Self>, LaunchError> {
        if ty == self.ty {
            return Ok(Some(self));
        }
        let mut converted = Self::zeros(ty, &self.shape)?;
        let bytes = converted.bytes_mut();
        let numbers = (0..self.len).map(|at| self.number(at));
        macro_rules! all {
            ($T:ty, |$float:ident| $of_float:expr, |$integer:ident| $of_integer:expr) => {{
                let values: &mut [$T] = bytemuck::cast_slice_mut(bytes);
                values.iter_mut().zip(numbers).all(|(value, number)| {
                    let of = match number {
                        Number::Float($float) => Some($of_float),
                        Number::Integer($integer) => $of_integer,
                    };
                    *value = of.unwrap_or_default();
                    of.is_some()
                })
            }};
        }
        macro_rules! to {
            ($($Type:ident $T:ty),*) => {
                match ty {
                    $(Type::$Type => all!($T, |float| float as $T, |integer| {
                        let value = integer as $T;
                        (value as i128 == integer).then_some(value)
                    }),)*
                    Type::F16 => all!(u16, |float| f16::from_f64(float).to_bits(), |integer| {
                        let value = f16::from_f64(integer as f64);
                        (value.to_f64() as i128 == integer).then_some(value.to_bits())
                    }),
                    Type::Bool => all!(u8, |float| u8::from(float != 0.0), |integer| {
                        u8::try_from(integer).ok().filter(|&value| value < 2)
                    }),
                }
            };
        }
        let fits = to!(
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64
        );
        Ok(fits.then_some(converted))
    }

    /// The same numbers in a type of at most 16 bits, those beyond it as its largest or smallest;
    /// `None` for a wider type.
    ///
    /// # Errors
    /// Those of [`zeros`](Self::zeros).
    pub fn narrowed(&self, ty: Type) -> Result<Option<Self>, LaunchError> {
        let mut narrow = Self::zeros(ty, &self.shape)?;
        let bytes = narrow.bytes_mut();
        // As float64 these types' own numbers are exact, and all others stay beyond them.
        let numbers = (0..self.len).map(|at| self.number(at).to_f64());
        fn fill<T: Pod>(bytes: &mut [u8], values: impl Iterator<Item = T>) {
            let to = bytemuck::cast_slice_mut(bytes).iter_mut().zip(values);
            to.for_each(|(to, value)| *to = value);
        }
        match ty {
            Type::Bool => fill(bytes, numbers.map(|x| u8::from(x > 0.0))),
            Type::I8 => fill(bytes, numbers.map(|x| x as i8)),
            Type::U8 => fill(bytes, numbers.map(|x| x as u8)),
            Type::I16 => fill(bytes, numbers.map(|x| x as i16)),
            Type::U16 => fill(bytes, numbers.map(|x| x as u16)),
            Type::F16 => fill(bytes, numbers.map(|x| f16::from_f64(x).to_bits())),
            _ => return Ok(None),
        }
        Ok(Some(narrow))
    }

    /// An element's number.
    ///
    /// # Panics
    /// When there is no such element, as for a slice.
    pub fn number(&self, at: usize) -> Number {
        macro_rules! number {
            ($($Type:ident $t:ty: $Kind:ident),*) => {
                match self.ty {
                    $(Type::$Type => Number::$Kind(self.words::<$t>()[at].into()),)*
                    Type::F16 => Number::Float(f16::from_bits(self.words::<u16>()[at]).to_f64()),
                }
            };
        }
        number!(
            Bool u8: Integer, I8 i8: Integer, I16 i16: Integer, I32 i32: Integer, I64 i64: Integer,
            U8 u8: Integer, U16 u16: Integer, U32 u32: Integer, U64 u64: Integer, F32 f32: Float, F64 f64: Float
        )
    }
}

impl Number {
    /// The nearest float64.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// The number of elements of a shape.
pub(crate) fn len_of(shape: &[usize]) -> Result<usize, LaunchError> {
    let product = |len: usize, &extent: &usize| len.checked_mul(extent);
    // An extent of 0 does not make the others' product small.
    let what = "an array";
    match shape.contains(&0) {
        true => Ok(0),
        false => (shape.iter().try_fold(1, product)).ok_or(LaunchError::SizeOverflow { what }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn an_array_keeps_its_elements() {
        let columns_first = array![[1_u16, 2, 3], [4, 5, 6]].reversed_axes().into_dyn();
        let array = AnyArray::of(columns_first.view()).unwrap();
        assert_eq!((array.ty(), array.shape()), (Type::U16, &[3, 2][..]));
        assert_eq!(array.typed::<u16>().unwrap(), [1, 4, 2, 5, 3, 6]);
        assert_eq!(array.typed::<i16>(), None);
        assert_eq!(array.clone().into_typed::<u16>(), Some(columns_first));
        assert_eq!(array.number(3), Number::Integer(5));
        let flat = array.reshaped(&[6]).unwrap();
        assert_eq!(flat.shape(), [6]);
        assert_eq!(flat.reshaped(&[7]), None);
    }

    #[test]
    fn every_type_has_its_numbers() {
        let of = |ty: Type, bytes: &[u8]| {
            let mut array = AnyArray::zeros(ty, &[1]).unwrap();
            array.bytes_mut().copy_from_slice(bytes);
            array.number(0)
        };
        assert_eq!(of(Type::Bool, &[1]), Number::Integer(1));
        assert_eq!(of(Type::I8, &[0xFE]), Number::Integer(-2));
        assert_eq!(of(Type::U64, &[0xFF; 8]), Number::Integer(u64::MAX.into()));
        assert_eq!(
            of(Type::F16, &0xC580_u16.to_ne_bytes()),
            Number::Float(-5.5)
        );
        assert_eq!(of(Type::F32, &0.5_f32.to_ne_bytes()), Number::Float(0.5));
    }

    #[test]
    fn numbers_are_converted_to_types_that_have_them() {
        let wide = AnyArray::of(array![-128_i64, 0, 1].into_dyn().view()).unwrap();
        let to = |ty| wide.clone().converted(ty).unwrap();
        let of = |array: Option<AnyArray>| -> Vec<_> {
            let array = array.expect("they fit");
            (0..3).map(|at| array.number(at).to_f64()).collect()
        };
        for ty in [Type::I8, Type::I16, Type::I64, Type::F32, Type::F64] {
            assert_eq!(of(to(ty)), [-128.0, 0.0, 1.0], "{ty}");
        }
        for ty in [Type::U8, Type::U64, Type::Bool] {
            assert_eq!(to(ty), None, "{ty}");
        }
        let halves = AnyArray::of(array![-0.0_f32, 0.5, f32::INFINITY].into_dyn().view());
        let halves = halves.unwrap().converted(Type::F16).unwrap().unwrap();
        assert_eq!(halves.words::<u16>(), [0x8000, 0x3800, 0x7C00]);
    }

    #[test]
    fn sizes_that_nothing_holds_are_refused() {
        assert!(AnyArray::zeros(Type::F64, &[1 << 40, 1 << 40]).is_err());
        assert!(AnyArray::zeros(Type::F64, &[1 << 50]).is_err());
        let empty = AnyArray::zeros(Type::F64, &[usize::MAX, 0, usize::MAX]).unwrap();
        assert!(empty.is_empty() && empty.bytes().is_empty());
    }
}
