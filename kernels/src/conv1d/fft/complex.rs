//! Complex numbers in registers, and the arithmetic that a transform needs.

use core::ops::{Add, Mul, Neg, Sub};

use crate::number::Real;

/// An element type of transforms.
pub trait Transformed:
    Real + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// A word with the size and alignment of a complex number, so that shared memory moves one at a
    /// time.
    type Word: Copy;
    /// cos 2πk/32 for k from 0 to 8.
    const COSINES: [Self; 9];
    /// 1/2^`exponent`.
    fn half_to(exponent: u32) -> Self;
    /// Largest sum of magnitudes of a thread's products from which the inverse of up to 2¹⁴ points
    /// cannot overflow.
    const LOUDEST: Self;
    /// The largest finite number.
    const MOST: Self;
}

/// cos 2πk/32 for k from 0 to 8.
const COSINES: [f64; 9] = [
    1.0,
    0.9807852804032304,
    0.9238795325112867,
    0.8314696123025452,
    core::f64::consts::FRAC_1_SQRT_2,
    0.5555702330196023,
    0.38268343236508984,
    0.19509032201612833,
    0.0,
];

macro_rules! transformed {
    ($t:ident, $Word:ident, $mantissa:expr, $bias:expr, $bits:ident) => {
        impl Transformed for $t {
            type Word = $Word;
            const COSINES: [Self; 9] = {
                let mut cosines = [0.0; 9];
                let mut k = 0;
                while k < 9 {
                    cosines[k] = COSINES[k] as $t;
                    k += 1;
                }
                cosines
            };
            const LOUDEST: Self = $t::MAX / 65536.0;
            const MOST: Self = $t::MAX;

            #[inline(always)]
            fn half_to(exponent: u32) -> Self {
                $t::from_bits((($bias - exponent) as $bits) << $mantissa)
            }
        }
    };
}
transformed!(f32, u64, 23, 127, u32);
transformed!(f64, u128, 52, 1023, u64);

/// A complex number.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T: Transformed> {
    pub(super) re: T,
    pub(super) im: T,
    aligned: [T::Word; 0],
}

#[inline(always)]
pub(super) fn complex<T: Transformed>(re: T, im: T) -> Complex<T> {
    let aligned = [];
    Complex { re, im, aligned }
}

/// Two complex numbers that are loaded or stored together.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Pair<T: Transformed>(pub(super) [Complex<T>; 2]);

impl<T: Transformed> Complex<T> {
    #[inline(always)]
    pub(super) fn zero() -> Self {
        complex(T::ZERO, T::ZERO)
    }

    /// Swaps real and imaginary parts. The forward transform of swapped numbers is the inverse
    /// transform, swapped and without its factor.
    #[inline(always)]
    pub(super) fn exchanged(self) -> Self {
        complex(self.im, self.re)
    }

    /// `self` · exp(−2πi `k`/32). For constant `k` only the necessary multiplications remain.
    #[inline(always)]
    pub(super) fn rotated(self, k: usize) -> Self {
        let rest = k % 8;
        let turned = match rest {
            0 => self,
            4 => {
                let half = T::COSINES[4];
                complex((self.re + self.im) * half, (self.im - self.re) * half)
            }
            _ => self * complex(T::COSINES[rest], -T::COSINES[8 - rest]),
        };
        match k / 8 % 4 {
            0 => turned,
            1 => complex(turned.im, -turned.re),
            2 => complex(-turned.re, -turned.im),
            _ => complex(-turned.im, turned.re),
        }
    }
}

impl<T: Transformed> Add for Complex<T> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        complex(self.re + other.re, self.im + other.im)
    }
}

impl<T: Transformed> Sub for Complex<T> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        complex(self.re - other.re, self.im - other.im)
    }
}

impl<T: Transformed> Mul for Complex<T> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        complex(
            self.re.mul_add(other.re, -(self.im * other.im)),
            self.re.mul_add(other.im, self.im * other.re),
        )
    }
}
