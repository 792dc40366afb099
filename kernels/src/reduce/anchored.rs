//! Sums of `f64` in two terms with four instructions an element instead of seven, and of products
//! with four instead of ten; and without the search for the largest sum of a block.
//!
//! The sum starts at an *anchor*, 1.5 · 2ᵏ, so much larger than the elements that it keeps the
//! anchor's sign and exponent. It is then never smaller than an element, so three additions give
//! the sum and what its rounding loses, where [`two_sum`](super::partial::two_sum) takes six. For a
//! product they are two fma and a subtraction.
//!
//! The anchor comes from the first 32 terms of the block's share, which each warp reads by one load
//! more. All threads of a block have the same one, so what they have is [two
//! integers](Parts) of one unit each. A warp adds them by four `redux`, without an error; by five
//! rounds of shuffles of two `f64` arrays up to 2¹⁹ elements take 1.02 to 1.05 of the time (H100,
//! 2026-11-27).
//!
//! Whether a sum has left its exponent is seen from the bits that changed, one `lop3` an element.
//! Then the block adds its elements again one by one: the first terms were zeros, say, or one
//! element is very large. An infinity or NaN has another exponent, too. The same where a warp's sum
//! is [small], and its integers do not hold all that was lost: of 1, 10⁻⁴⁰ and −1, say.
//!
//! # The error
//!
//! Let m be the largest magnitude of the first 32 terms, a part of Σ|x|. The anchor is below 2⁹·m,
//! so an addition loses at most 2⁻⁴⁵·m, and a sum of h such losses is off by at most
//! h²/2 · 2⁻⁵³ · 2⁻⁴⁵·m: 2⁻⁸²·m in all with h ≤ [`MOST`] and [`THREADS`] threads. What the
//! additions lose is counted in 2⁻⁴⁶ of the anchor's last place, which is off by 2⁻⁹¹·m for a
//! thread, and the block's sum of it is rounded twice, by less than 2⁻⁸⁴·m. Together that is below
//! 2⁻⁸⁰·m.

use cuda_std::GpuFloat;

use super::partial::{Partial, Twofold};

/// The most terms of a thread that are added this way.
pub const MOST: usize = 32;

/// The most threads of a block.
pub const THREADS: usize = 128;

/// Exponents from the largest first term, at least 2ᵉ, to the anchor: 1.5 · 2ᵉ⁺⁸ keeps its exponent
/// while the sum is below 2ᵉ⁺⁷. So the [`MOST`] terms may be up to 2ᵉ⁺², twice the largest.
const EXPONENTS: u32 = 8;

/// Exponents from the anchor's last place to that of what is lost: 2⁵⁰ of the latter are what
/// [`MOST`] terms can lose.
const LOST: u32 = 46;

/// The most by which a sum in this way is off, relative to the sum of its terms' magnitudes.
pub const ERROR: f64 = 1.0 / (1_u128 << 80) as f64;

/// A sum less its anchor: multiples of the anchor's last place, and what the additions have lost,
/// in multiples of 2⁻⁴⁶ of it. Both are below 2⁵¹.
pub type Parts = [i64; 2];

/// The sum of two: exact for the threads of a block.
#[inline(always)]
pub fn add_parts(a: Parts, b: Parts) -> Parts {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
}

/// Whether a warp's sum is so small beside its terms, below 2⁻¹⁷ of the largest, that what its
/// [`Parts`] do not hold could be seen in it.
#[inline(always)]
pub fn small([upper, _]: Parts) -> bool {
    const SMALL: i64 = 1 << 26;
    (upper.wrapping_add(SMALL) as u64) < 2 * SMALL as u64
}

/// Sums of up to [`MOST`] terms in each of up to [`THREADS`] threads, each an element or a product
/// of two.
pub trait Anchored<T, P>: Copy {
    /// Whether this is faster than to add one by one.
    const FASTER: bool;
    /// The upper word of a term without its sign.
    fn magnitude<const N: usize>(factors: [T; N]) -> u32;
    /// The anchor for terms of which the largest first one has this upper word. If there is none,
    /// sums do not [fit](Self::fits).
    fn above(most: u32) -> Self;
    /// The sum with one more term added.
    fn plus<const N: usize>(self, factors: [T; N]) -> Self;
    /// Whether the sum has never left its anchor's exponent.
    fn fits(self) -> bool;
    /// The sum less its anchor, if it fits.
    fn parts(self) -> Parts;
    /// Whether its parts hold all that the additions have lost.
    fn is_held(self) -> bool;
    /// The sum of parts by this sum's anchor.
    fn total(self, parts: Parts) -> P;
}

/// For elements that are added with a single addition.
impl<T: Copy, P: Partial> Anchored<T, P> for () {
    const FASTER: bool = false;

    #[inline(always)]
    fn magnitude<const N: usize>(_: [T; N]) -> u32 {
        0
    }

    #[inline(always)]
    fn above(_: u32) -> Self {}

    #[inline(always)]
    fn plus<const N: usize>(self, _: [T; N]) -> Self {}

    #[inline(always)]
    fn fits(self) -> bool {
        false
    }

    #[inline(always)]
    fn parts(self) -> Parts {
        Parts::default()
    }

    #[inline(always)]
    fn is_held(self) -> bool {
        false
    }

    #[inline(always)]
    fn total(self, _: Parts) -> P {
        P::ZERO
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
    fn above(most: u32) -> Self {
        // What is lost has an exponent, too.
        const LEAST: u32 = (LOST + 1 - EXPONENTS) << 20;
        let (anchor, changed) = match Twofold::above::<EXPONENTS>(most.max(LEAST)) {
            Some(anchor) => (anchor, 0),
            None => (1.0, u32::MAX),
        };
        Self {
            anchor,
            sum: anchor,
            rest: 0.0,
            changed,
        }
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
    fn fits(self) -> bool {
        const SIGN_AND_EXPONENT: u32 = 0xFFF0_0000;
        self.changed & SIGN_AND_EXPONENT == 0
    }

    #[inline(always)]
    fn parts(self) -> Parts {
        let lost = anchor_of_lost(self.anchor);
        [
            places(self.sum, self.anchor),
            places(lost + self.rest, lost),
        ]
    }

    #[inline(always)]
    fn is_held(self) -> bool {
        let lost = anchor_of_lost(self.anchor);
        lost + self.rest - lost == self.rest
    }

    #[inline(always)]
    fn total(self, [upper, lower]: Parts) -> Twofold {
        let lost = anchor_of_lost(self.anchor);
        // The last places, which may be smaller than a normal number.
        let of_lower = f64::from_bits(lost.to_bits() + 1) - lost;
        let of_upper = of_lower * (1_u64 << LOST) as f64;
        // 48 bits, and the rest of them.
        const LOW: i64 = 1 << 10;
        let high = (upper + LOW / 2) & -LOW;
        let low = (upper - high) as f64 * of_upper;
        Twofold {
            sum: high as f64 * of_upper,
            rest: GpuFloat::mul_add(lower as f64, of_lower, low),
        }
    }
}

/// By how many last places two numbers of one exponent are apart: as their bits are.
#[inline(always)]
fn places(sum: f64, anchor: f64) -> i64 {
    sum.to_bits().wrapping_sub(anchor.to_bits()) as i64
}

/// The number next to which losses are counted.
#[inline(always)]
fn anchor_of_lost(anchor: f64) -> f64 {
    f64::from_bits(anchor.to_bits() - (u64::from(LOST) << 52))
}

#[cfg(test)]
mod tests {
    use super::{Anchored, AnchoredSum, MOST, Parts, THREADS, add_parts, upper};
    use crate::reduce::{Addend, Partial, Twofold};

    /// A sum of terms by an anchor for the first one.
    fn sum<const N: usize>(terms: &[[f64; N]]) -> AnchoredSum {
        let most = <AnchoredSum as Anchored<f64, Twofold>>::magnitude(terms[0]);
        let start = <AnchoredSum as Anchored<f64, Twofold>>::above(most);
        terms.iter().fold(start, |sum, &term| sum.plus(term))
    }

    fn parts(sum: AnchoredSum) -> Option<Parts> {
        Anchored::<f64, Twofold>::fits(sum).then(|| Anchored::<f64, Twofold>::parts(sum))
    }

    fn anchored<const N: usize>(terms: &[[f64; N]]) -> Option<Twofold> {
        let sum = sum(terms);
        Some(sum.total(parts(sum)?))
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

    #[test]
    fn what_integers_do_not_hold_is_noticed() {
        // The anchor's last place is 2⁻⁴⁴.
        for (small, held) in [(2.0_f64.powi(-90), true), (2.0_f64.powi(-91), false)] {
            let sum = sum(&[[1.0], [small], [-1.0]]);
            assert_eq!(Anchored::<f64, Twofold>::is_held(sum), held, "{small:e}");
            assert!(super::small(parts(sum).expect("an exponent for all")));
        }
        let large = parts(sum(&[[1.0], [2.0_f64.powi(-16)], [-1.0]]));
        assert!(!super::small(large.expect("an exponent for all")));
    }

    /// As many terms as a block has, each as large as an anchor allows: nothing overflows.
    #[test]
    fn a_block_of_the_largest_sums_is_exact() {
        for sign in [1.0, -1.0] {
            let thread = sum(&[[sign * 1.999]; MOST]);
            let of_thread = parts(thread).expect("an exponent for all");
            let block = (1..THREADS).fold(of_thread, |sum, _| add_parts(sum, of_thread));
            let total = thread.total(block).settle();
            let mut exact = Twofold::ZERO;
            for _ in 0..MOST * THREADS {
                exact = (sign * 1.999).add_to(exact).settle();
            }
            assert_eq!(total.sum, exact.sum);
            assert!((total.rest - exact.rest).abs() < 2.0_f64.powi(-68));
        }
    }

    #[test]
    fn the_smallest_numbers_are_counted() {
        let least = f64::from_bits(1);
        for first in [0.0, least, f64::MIN_POSITIVE] {
            let terms = [[first], [3.0 * least], [-least]];
            let total = anchored(&terms).expect("an exponent for all");
            assert_eq!(
                total.settle(),
                Twofold::new(first + 2.0 * least),
                "{first:e}"
            );
        }
    }
}
