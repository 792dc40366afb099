//! Sums of `f64` in two terms with four instructions an element instead of seven, and of products
//! with four instead of ten; and without the search for the largest sum of a block.
//!
//! The sum starts at an *anchor*, 1.5 · 2ᵏ, so much larger than the elements that it keeps the
//! anchor's sign and exponent. It is then never smaller than an element, so three additions give
//! the sum and what its rounding loses, where [`two_sum`](super::partial::two_sum) takes six. For a
//! product they are two fma and a subtraction.
//!
//! The anchor comes from the first 32 terms of the block's share, which each warp reads by one load
//! more. All threads of a block have the same one, so they can [divide their
//! sums](Anchored::parts) at one place before they fold them.
//!
//! Whether a sum has left its exponent is seen from the bits that changed, one `lop3` an element.
//! Such a thread adds its elements again one by one: the first terms were zeros, say, or one element
//! is very large. An infinity or NaN has another exponent, too.
//!
//! # The error
//!
//! Let m be the largest magnitude of the first 32 terms, a part of Σ|x|. The anchor is below 2⁹·m,
//! so an addition loses at most 2⁻⁴⁵·m, and a sum of h such losses is off by at most
//! h²/2 · 2⁻⁵³ · 2⁻⁴⁵·m: 2⁻⁸²·m in all with h ≤ [`MOST`] and [`THREADS`] threads. Lower parts are at
//! most 2⁻³⁸·m, and off by 8 · 2⁻⁵³ of that after eight levels, with 128 threads 2⁻⁸¹·m. Together
//! that is below 2⁻⁸⁰·m.

use cuda_std::GpuFloat;

use super::partial::Twofold;

/// The most terms of a thread that are added this way.
pub const MOST: usize = 32;

/// The most threads of a block.
pub const THREADS: usize = 128;

/// Exponents from the largest first term, at least 2ᵉ, to the anchor: 1.5 · 2ᵉ⁺⁸ keeps its exponent
/// while the sum is below 2ᵉ⁺⁷. So the [`MOST`] terms may be up to 2ᵉ⁺², twice the largest.
const EXPONENTS: u32 = 8;

/// Exponents from the anchor to what divides the sums of [`THREADS`] threads.
const FOLD: u32 = 7;

/// The most by which a sum in this way is off, relative to the sum of its terms' magnitudes.
pub const ERROR: f64 = 1.0 / (1_u128 << 80) as f64;

/// Sums of up to [`MOST`] terms in each of up to [`THREADS`] threads, each an element or a product of two.
pub trait Anchored<T, P>: Copy {
    /// Whether this is faster than to add one by one.
    const FASTER: bool;
    /// The upper word of a term without its sign.
    fn magnitude<const N: usize>(factors: [T; N]) -> u32;
    /// The anchor for terms of which the largest first one has this upper word; `None` if there is
    /// none.
    fn above(most: u32) -> Option<Self>;
    /// The sum with one more term added.
    fn plus<const N: usize>(self, factors: [T; N]) -> Self;
    /// The sum less its anchor; `None` if it has left the anchor's exponent. It is divided so that
    /// the upper terms of a block's threads add up exactly, by [`Partial::add_parts`].
    ///
    /// [`Partial::add_parts`]: super::Partial::add_parts
    fn parts(self) -> Option<P>;
}

/// For elements that are added with a single addition.
impl<T: Copy, P> Anchored<T, P> for () {
    const FASTER: bool = false;

    #[inline(always)]
    fn magnitude<const N: usize>(_: [T; N]) -> u32 {
        0
    }

    #[inline(always)]
    fn above(_: u32) -> Option<Self> {
        None
    }

    #[inline(always)]
    fn plus<const N: usize>(self, _: [T; N]) -> Self {}

    #[inline(always)]
    fn parts(self) -> Option<P> {
        None
    }
}

/// A sum of `f64`.
#[derive(Clone, Copy)]
pub struct AnchoredSum {
    anchor: f64,
    /// The anchor and the sum.
    sum: f64,
    /// What the additions have lost.
    rest: f64,
    /// Bits of the upper word that have not been the anchor's all the time.
    changed: u32,
}

/// The upper word.
#[inline(always)]
fn upper(value: f64) -> u32 {
    (value.to_bits() >> 32) as u32
}

impl Anchored<f64, Twofold> for AnchoredSum {
    const FASTER: bool = true;

    #[inline(always)]
    fn magnitude<const N: usize>(factors: [f64; N]) -> u32 {
        let term = match factors[..] {
            [x, y] => GpuFloat::mul_add(x, y, 0.0),
            _ => factors[0],
        };
        upper(term) & (u32::MAX >> 1)
    }

    #[inline(always)]
    fn above(most: u32) -> Option<Self> {
        // A number for the division exists, too.
        Twofold::above::<{ EXPONENTS + FOLD }>(most)?;
        let anchor = Twofold::above::<EXPONENTS>(most)?;
        Some(Self {
            anchor,
            sum: anchor,
            rest: 0.0,
            changed: 0,
        })
    }

    #[inline(always)]
    fn plus<const N: usize>(self, factors: [f64; N]) -> Self {
        let (sum, lost) = match factors[..] {
            [x, y] => {
                let sum = GpuFloat::mul_add(x, y, self.sum);
                (sum, GpuFloat::mul_add(x, y, -(sum - self.sum)))
            }
            _ => {
                let sum = self.sum + factors[0];
                (sum, factors[0] - (sum - self.sum))
            }
        };
        Self {
            sum,
            rest: self.rest + lost,
            changed: self.changed | upper(sum) ^ upper(self.anchor),
            ..self
        }
    }

    #[inline(always)]
    fn parts(self) -> Option<Twofold> {
        const SIGN_AND_EXPONENT: u32 = 0xFFF0_0000;
        let sum = Twofold {
            sum: self.sum - self.anchor,
            rest: self.rest,
        };
        let above = f64::from_bits(self.anchor.to_bits() + (u64::from(FOLD) << 52));
        (self.changed & SIGN_AND_EXPONENT == 0).then_some(Twofold::divided([sum], above))
    }
}

#[cfg(test)]
mod tests {
    use super::{Anchored, AnchoredSum, MOST, upper};
    use crate::reduce::{Addend, Partial, Twofold};

    fn anchored<const N: usize>(terms: &[[f64; N]]) -> Option<Twofold> {
        let most = <AnchoredSum as Anchored<f64, Twofold>>::magnitude(terms[0]);
        let start = <AnchoredSum as Anchored<f64, Twofold>>::above(most)?;
        let sum = terms.iter().fold(start, |sum, &term| sum.plus(term));
        Anchored::<f64, Twofold>::parts(sum)
    }

    /// Against sums in two terms, which are exact here.
    #[test]
    fn terms_that_fit_lose_nothing() {
        let term = |i: usize| 1.0 / (i + 1) as f64 - 0.3;
        let ones: Vec<_> = (0..MOST).map(|i| [term(i)]).collect();
        let exact = |sum: Twofold| sum.settle();
        let expected = ones.iter().fold(Twofold::ZERO, |sum, [x]| x.add_to(sum));
        assert_eq!(anchored(&ones).map(exact), Some(exact(expected)));
        let products: Vec<_> = (0..MOST).map(|i| [term(i), term(i + 7)]).collect();
        let expected = (products.iter()).fold(Twofold::ZERO, |sum, [x, y]| x.mul_add_to(*y, sum));
        let (got, expected) = (anchored(&products).map(exact), exact(expected));
        let got = got.expect("an exponent for all");
        assert_eq!(got.sum, expected.sum);
        assert!((got.rest - expected.rest).abs() < 2.0_f64.powi(-85));
    }

    #[test]
    fn terms_that_are_too_large_are_noticed() {
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        for last in [1e4, -1e4, 1e300, -1e300, infinity, -infinity, nan] {
            assert_eq!(anchored(&[[1.0], [1.0], [last]]), None, "{last}");
            assert_eq!(anchored(&[[1.0, 2.0], [last, 1.0]]), None, "{last}");
        }
        // It is back at the end.
        assert_eq!(anchored(&[[1.0], [1e4], [-1e4]]), None);
        // The first ones decide about the anchor: there is none, or 0 is the largest.
        assert_eq!(anchored(&[[f64::MAX]]), None);
        assert_eq!(anchored(&[[infinity]]), None);
        assert_eq!(anchored(&[[nan]]), None);
        assert_eq!(anchored(&[[0.0], [1.0]]), None);
        let zero = Some(Twofold::ZERO);
        assert_eq!(anchored(&[[-0.0]; 3]), zero);
        assert_eq!(upper(anchored(&[[-0.0]; 3]).expect("zero").sum), 0);
    }
}
