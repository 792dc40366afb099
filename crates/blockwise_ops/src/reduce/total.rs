//! Results before their rounding.

use blockwise::Type;
use kernels::reduce::{Addend, Partial as _, TotalOf, Twofold, merge_totals};

use super::problem::Code;
use crate::array::AnyArray;
use crate::operation::{Problem, Reduction};
use crate::{Element, LaunchError};

/// The types that can be reduced.
pub trait Number: Element + Addend {
    /// A total as words, for another process.
    #[doc(hidden)]
    fn words_of(total: TotalOf<Self>) -> [u64; 2];
    /// A total from its words.
    #[doc(hidden)]
    fn of_words(words: [u64; 2]) -> TotalOf<Self>;
    /// A block's result from its words.
    #[doc(hidden)]
    fn partial_of(words: &[u64]) -> PartialOf<Self>;
}

/// A block's result: a sum in more precision than its elements.
pub type PartialOf<T> = <T as Addend>::Partial;

macro_rules! number_of_integers {
    ($($integer:ident)*) => { $(
        impl Number for $integer {
            fn words_of(total: Self) -> [u64; 2] {
                [total as u64, 0]
            }

            fn of_words([word, _]: [u64; 2]) -> Self {
                word as Self
            }

            fn partial_of(words: &[u64]) -> Self {
                words[0] as Self
            }
        }
    )* };
}
number_of_integers!(i64 u64);

macro_rules! number_of_floats {
    ($($float:ty: |$words:ident| $partial:expr;)*) => { $(
        impl Number for $float {
            fn words_of(total: Twofold) -> [u64; 2] {
                [total.sum, total.rest].map(f64::to_bits)
            }

            fn of_words(words: [u64; 2]) -> Twofold {
                let [sum, rest] = words.map(f64::from_bits);
                Twofold { sum, rest }
            }

            fn partial_of($words: &[u64]) -> PartialOf<Self> {
                $partial
            }
        }
    )* };
}
number_of_floats! {
    f32: |words| f64::from_bits(words[0]);
    f64: |words| Twofold { sum: f64::from_bits(words[0]), rest: f64::from_bits(words[1]) };
}

/// The result for a part of the elements: of blocks, of a chunk, of a rank.
///
/// A sum has twice the precision of `f64`, for `f32` too, until [`round`](Self::round): so neither
/// the number of parts nor their order shows in the result, except for one array in thousands (see
/// [`kernels::reduce::addend`]).
///
/// ```
/// use blockwise_ops::{Reduction, reduce::Total};
///
/// let parts = [1e8_f32, 1.0, -1e8].map(Total::from);
/// let sum = parts.into_iter().reduce(|sum, next| sum.fold(next, Reduction::Sum));
/// assert_eq!(sum.map(Total::round), Some(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total<T: Number>(TotalOf<T>);

impl<T: Number> Total<T> {
    /// Folds two results into one.
    #[must_use]
    pub fn fold(self, next: Self, reduction: Reduction) -> Self {
        match reduction {
            Reduction::Sum => Self(merge_totals(self.0, next.0)),
            Reduction::Min => self.round().min(next.round()).into(),
            Reduction::Max => self.round().max(next.round()).into(),
        }
    }

    /// The nearest number of the type.
    pub fn round(self) -> T {
        T::rounded(self.0)
    }

    /// The result of a problem with this total: the nearest number to the total, or to the mean.
    pub fn result(self, problem: &Problem) -> T {
        match Code::of(problem) {
            Code::Mean => T::mean(self.0, problem.extents[0] as u64),
            _ => self.round(),
        }
    }

    /// Folds the results of a launch's blocks, in order.
    pub fn of_partials(partials: &[PartialOf<T>], reduction: Reduction) -> Self {
        let totals = partials.iter().map(|partial| Self(partial.settle()));
        let total = totals.reduce(|sofar, next| sofar.fold(next, reduction));
        // There is at least one block.
        total.unwrap_or_default()
    }

    /// The same of their bytes.
    pub fn of_results(bytes: &[u8], reduction: Reduction) -> Self {
        let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(word).collect();
        let partials = words.chunks_exact(size_of::<PartialOf<T>>() / size_of::<u64>());
        let partials: Vec<_> = partials.map(T::partial_of).collect();
        Self::of_partials(&partials, reduction)
    }

    /// The total as words, for another process.
    pub fn to_words(self) -> [u64; 2] {
        T::words_of(self.0)
    }

    /// The total from [words](Self::to_words).
    pub fn from_words(words: [u64; 2]) -> Self {
        Self(T::of_words(words))
    }
}

/// A result of one element.
impl<T: Number> From<T> for Total<T> {
    fn from(value: T) -> Self {
        Self(value.total())
    }
}

/// The sum of no elements.
impl<T: Number> Default for Total<T> {
    fn default() -> Self {
        T::default().into()
    }
}

/// Merges the results of a launch's blocks, and rounds.
pub(super) fn number(problem: &Problem, bytes: &[u8]) -> Result<AnyArray, LaunchError> {
    fn of<T: Number>(problem: &Problem, bytes: &[u8], by: Reduction) -> Vec<u8> {
        bytemuck::bytes_of(&Total::<T>::of_results(bytes, by).result(problem)).to_vec()
    }
    let by = match Code::of(problem) {
        Code::Sum | Code::Dot | Code::Mean => Reduction::Sum,
        Code::Min | Code::ArgMin => Reduction::Min,
        Code::Max | Code::ArgMax => Reduction::Max,
    };
    let rounded = match problem.ty {
        Type::F32 => of::<f32>(problem, bytes, by),
        Type::F64 => of::<f64>(problem, bytes, by),
        Type::U64 => of::<u64>(problem, bytes, by),
        _ => of::<i64>(problem, bytes, by),
    };
    let mut number = AnyArray::zeros(problem.ty, &[])?;
    number.bytes_mut().copy_from_slice(&rounded);
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold<T: Number>(a: T, b: T, reduction: Reduction) -> T {
        Total::from(a).fold(b.into(), reduction).round()
    }

    #[test]
    fn results_fold_as_numpy_does() {
        assert_eq!(fold(i64::MAX, 1, Reduction::Sum), i64::MIN);
        assert_eq!(fold(3_i64, -4, Reduction::Min), -4);
        assert_eq!(fold(3_i64, -4, Reduction::Max), 3);
        assert_eq!(fold(u64::MAX, 1, Reduction::Sum), 0);
        assert_eq!(fold(u64::MAX, 1, Reduction::Min), 1);
        assert_eq!(fold(1, 1 << 63, Reduction::Max), 1_u64 << 63);
        for reduction in [Reduction::Min, Reduction::Max] {
            assert!(fold(f32::NAN, 1.0, reduction).is_nan());
            assert!(fold(1.0, f64::NAN, reduction).is_nan());
        }
        assert_eq!(fold(f32::MAX, f32::MAX, Reduction::Max), f32::MAX);
        assert_eq!(fold(5e-324, 1.0, Reduction::Min), 5e-324);
    }

    #[test]
    fn words_are_the_whole_total() {
        let total = Total::from(1e16).fold(1.0.into(), Reduction::Sum);
        let arrived = Total::from_words(total.to_words());
        assert_eq!(arrived, total);
        let sum = arrived.fold((-1e16).into(), Reduction::Sum);
        assert_eq!(sum.round(), 1.0);
        let integer = Total::from(-7_i64);
        assert_eq!(Total::<i64>::from_words(integer.to_words()).round(), -7);
    }
}
