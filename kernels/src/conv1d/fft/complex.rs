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
    /// The largest finite number.
    const MOST: Self;

    /// The number of bits of a loudness below its exponent.
    const LOUDNESS_BITS: u32;
    /// The exponent of 1.
    const BIAS: i32;
    /// The loudest tap is used unscaled up to this power of two from 1.
    const NEAR: i32;
    /// Taps are transformed up to this power of two from 1.
    const FAR: i32;
    /// The loudest sample that is transformed unscaled.
    const LOUDEST: u32;
    /// The loudness that some sample near each output needs for that.
    const QUIETEST: u32;
    /// The loudness of a number: zero only for zero, more for larger magnitudes, most for
    /// infinities and NaN.
    fn loudness(self) -> u32;
    /// The larger of `than` and this number's loudness. NaN and, with `f64`, numbers too small to
    /// be normal may be taken for zero.
    fn louder(self, than: u32) -> u32;
    /// Whether the number has at least this loudness. NaN and, with `f64`, numbers that differ only
    /// in the last 32 bits may be taken for quieter.
    fn is_as_loud(self, loudness: u32) -> bool;
    /// For each of four chains of votes of a warp, 1 if it is 1 in `all` and the lanes have a
    /// number that [is as loud](Self::is_as_loud), otherwise 0.
    ///
    /// # Safety
    /// All lanes of the warp call it, with the same `all`.
    unsafe fn are_as_loud(numbers: [Self; 4], loudness: u32, all: [u32; 4]) -> [u32; 4];
    /// The smallest number of a finite loudness.
    fn of_loudness(loudness: u32) -> Self;
    /// Whether the number is NaN.
    #[inline(always)]
    fn is_not_a_number(self) -> bool {
        self.loudness() > ((2 * Self::BIAS + 1) as u32) << Self::LOUDNESS_BITS
    }
    /// 2 to the power `power`, a normal number.
    fn power(power: i32) -> Self;
}

/// A sample, or zero outside the signal.
#[inline(always)]
pub(super) fn sample<T: Transformed>(signal: &[T], at: usize) -> T {
    signal.get(at).copied().unwrap_or(T::ZERO)
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
    ($t:ident, $Word:ident, $mantissa:expr, $bias:expr, $bits:ident, $near:literal, $far:literal) => {
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
            const MOST: Self = $t::MAX;

            const LOUDNESS_BITS: u32 = $mantissa - ($bits::BITS - 32);
            const BIAS: i32 = $bias;
            const NEAR: i32 = $near;
            const FAR: i32 = $far;
            const LOUDEST: u32 = (($bias + 3 * $near / 2) as u32) << Self::LOUDNESS_BITS;
            const QUIETEST: u32 = (($bias - 3 * $near / 2) as u32) << Self::LOUDNESS_BITS;

            #[inline(always)]
            fn loudness(self) -> u32 {
                let bits = self.to_bits() & ($bits::MAX >> 1);
                let rest = bits & ((1 << ($bits::BITS - 32)) - 1);
                (bits >> ($bits::BITS - 32)) as u32 | u32::from(rest != 0)
            }

            #[inline(always)]
            fn louder(self, than: u32) -> u32 {
                louder::$t(self, than)
            }

            #[inline(always)]
            fn is_as_loud(self, loudness: u32) -> bool {
                is_as_loud::$t(self, loudness)
            }

            #[inline(always)]
            unsafe fn are_as_loud(numbers: [Self; 4], loudness: u32, all: [u32; 4]) -> [u32; 4] {
                // SAFETY: the caller's promise.
                unsafe { are_as_loud::$t(numbers, loudness, all) }
            }

            #[inline(always)]
            fn of_loudness(loudness: u32) -> Self {
                $t::from_bits($bits::from(loudness) << ($bits::BITS - 32))
            }

            #[inline(always)]
            fn power(power: i32) -> Self {
                $t::from_bits((($bias + power) as $bits) << $mantissa)
            }
        }
    };
}
transformed!(f32, u64, 23, 127, u32, 40, 100);
transformed!(f64, u128, 52, 1023, u64, 400, 900);

/// Faster forms of [`louder`](Transformed::louder) than by comparing
/// [loudnesses](Transformed::loudness).
mod louder {
    #[inline(always)]
    pub(super) fn f32(number: f32, than: u32) -> u32 {
        // One instruction, which takes the magnitude of an operand.
        f32::from_bits(than).max(number.abs()).to_bits()
    }

    #[inline(always)]
    pub(super) fn f64(number: f64, than: u32) -> u32 {
        // Comparing the upper words: `max` of two `f64` takes three instructions.
        let high = (number.to_bits() >> 32) as u32 & (u32::MAX >> 1);
        if high > than { high } else { than }
    }
}

/// As [`louder`], for [`is_as_loud`](Transformed::is_as_loud).
mod is_as_loud {
    #[inline(always)]
    pub(super) fn f32(number: f32, loudness: u32) -> bool {
        number.abs() >= f32::from_bits(loudness)
    }

    #[inline(always)]
    pub(super) fn f64(number: f64, loudness: u32) -> bool {
        (number.to_bits() >> 32) as u32 & (u32::MAX >> 1) >= loudness
    }
}

/// As [`louder`], for [`are_as_loud`](Transformed::are_as_loud).
mod are_as_loud {
    use cuda_std::gpu_only;
    use cuda_std::warp::warp_vote_any;

    /// A vote's comparison takes the chain as an operand: LLVM would compare ahead of branches and
    /// combine the votes afterwards, in more predicates than there are.
    #[gpu_only]
    #[inline(always)]
    pub(super) unsafe fn f32([x, y, z, w]: [f32; 4], loudness: u32, all: [u32; 4]) -> [u32; 4] {
        let [mut a, mut b, mut c, mut d] = all;
        // SAFETY: the caller's promise: all lanes are here.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred a, b, c, d;",
                ".reg .f32 x, y, z, w;",
                "abs.f32 x, {x};",
                "abs.f32 y, {y};",
                "abs.f32 z, {z};",
                "abs.f32 w, {w};",
                "setp.ne.u32 a, {a}, 0;",
                "setp.ne.u32 b, {b}, 0;",
                "setp.ne.u32 c, {c}, 0;",
                "setp.ne.u32 d, {d}, 0;",
                "setp.ge.and.f32 a, x, {loudness}, a;",
                "setp.ge.and.f32 b, y, {loudness}, b;",
                "setp.ge.and.f32 c, z, {loudness}, c;",
                "setp.ge.and.f32 d, w, {loudness}, d;",
                "vote.sync.any.pred a, a, -1;",
                "vote.sync.any.pred b, b, -1;",
                "vote.sync.any.pred c, c, -1;",
                "vote.sync.any.pred d, d, -1;",
                "selp.u32 {a}, 1, 0, a;",
                "selp.u32 {b}, 1, 0, b;",
                "selp.u32 {c}, 1, 0, c;",
                "selp.u32 {d}, 1, 0, d;",
                "}}",
                x = in(reg32) x,
                y = in(reg32) y,
                z = in(reg32) z,
                w = in(reg32) w,
                loudness = in(reg32) f32::from_bits(loudness),
                a = inout(reg32) a,
                b = inout(reg32) b,
                c = inout(reg32) c,
                d = inout(reg32) d,
                options(nomem, nostack),
            );
        }
        [a, b, c, d]
    }

    #[inline(always)]
    pub(super) unsafe fn f64(numbers: [f64; 4], loudness: u32, all: [u32; 4]) -> [u32; 4] {
        let mut all = all;
        cuda_std::unroll::unrolled::<4>(|i| {
            // SAFETY: the caller's promise.
            let any =
                unsafe { warp_vote_any(u32::MAX, super::is_as_loud::f64(numbers[i], loudness)) };
            all[i] &= u32::from(any);
        });
        all
    }
}

/// A complex number. Without an alignment of its own the compiler passes it as two floats, not as
/// one integer that it takes apart again.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T: Transformed> {
    pub(super) re: T,
    pub(super) im: T,
}

#[inline(always)]
pub(super) fn complex<T: Transformed>(re: T, im: T) -> Complex<T> {
    Complex { re, im }
}

/// A complex number in memory: both parts are one access.
#[repr(C)]
struct Place<T: Transformed> {
    number: Complex<T>,
    aligned: [T::Word; 0],
}

/// Loads a complex number.
///
/// # Safety
/// It may be read there, at a multiple of its size.
#[inline(always)]
pub(super) unsafe fn read_number<T: Transformed>(from: *const Complex<T>) -> Complex<T> {
    // SAFETY: the caller's promise.
    unsafe { from.cast::<Place<T>>().read().number }
}

/// Stores a complex number.
///
/// # Safety
/// It may be written there, at a multiple of its size.
#[inline(always)]
pub(super) unsafe fn write_number<T: Transformed>(to: *mut Complex<T>, number: Complex<T>) {
    let aligned = [];
    // SAFETY: the caller's promise.
    unsafe { to.cast::<Place<T>>().write(Place { number, aligned }) };
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

    /// `self` · exp(−2πi `K`/32), with the necessary multiplications only.
    #[inline(always)]
    pub(super) fn rotated<const K: usize>(self) -> Self {
        let turned = match const { K % 8 } {
            0 => self,
            4 => {
                let half = T::COSINES[4];
                complex((self.re + self.im) * half, (self.im - self.re) * half)
            }
            rest => self * complex(T::COSINES[rest], -T::COSINES[8 - rest]),
        };
        match const { K / 8 % 4 } {
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
