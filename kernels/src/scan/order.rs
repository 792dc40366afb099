//! Floats as signed integers of the same width that are in the same order.
//!
//! A float's bits are its sign and then its magnitude. With the magnitude's bits inverted where the
//! sign is set, floats are ordered as signed integers: −NaN, −∞, …, −0, 0, …, ∞, NaN. Moved up by
//! the number of NaNs with one sign, those at the top come to the bottom, in front of the others: a
//! minimum is NaN if there is one. ∞ is then the largest integer, which is what a minimum of nothing
//! is.

use crate::number::Scalar;
use crate::reduce::{Extreme, Op, Sum};

/// An operation of scans.
pub trait Running: Op {
    /// Whether it compares, so that floats have to be turned into integers.
    const ORDERS: bool;
}

impl Running for Sum {
    const ORDERS: bool = false;
}

impl Running for Extreme {
    const ORDERS: bool = true;
}

/// The NaNs with one sign.
const fn nans<T>() -> u64 {
    match size_of::<T>() {
        4 => (1 << 23) - 1,
        _ => (1 << 52) - 1,
    }
}

/// The bits with those of the magnitude inverted where the sign is set. Twice is not at all.
#[inline(always)]
fn inverted<T: Scalar>(bits: u64) -> u64 {
    let above = 64 - 8 * size_of::<T>() as u32;
    let sign = ((bits << above) as i64 >> 63) as u64;
    bits ^ (sign & (u64::MAX >> above >> 1))
}

/// The integer for a float's bits.
#[inline(always)]
pub(super) fn ordered<T: Scalar>(float: T) -> T {
    T::of_bits(inverted::<T>(float.bits()).wrapping_add(nans::<T>()))
}

/// The float's bits for an integer.
#[inline(always)]
pub(super) fn unordered<T: Scalar>(integer: T) -> T {
    let moved = T::of_bits(integer.bits().wrapping_sub(nans::<T>()));
    T::of_bits(inverted::<T>(moved.bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_ordered_as_integers_and_nans_come_first() {
        let floats = [
            f32::NEG_INFINITY,
            -1e30,
            -1.0,
            -f32::from_bits(1),
            -0.0,
            0.0,
            f32::from_bits(1),
            2.5,
            f32::MAX,
            f32::INFINITY,
        ];
        let integer = |float: f32| ordered(float.to_bits() as i32);
        assert!(floats.is_sorted_by(|&a, &b| integer(a) < integer(b)));
        assert_eq!(integer(f32::INFINITY), i32::MAX);
        for nan in [0x7f80_0001_u32, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff] {
            assert!(ordered(nan as i32) < integer(f32::NEG_INFINITY), "{nan:x}");
            assert_eq!(unordered(ordered(nan as i32)) as u32, nan);
        }
        for float in floats {
            let bits = f64::from(float).to_bits() as i64;
            assert_eq!(unordered(ordered(bits)), bits);
            assert_eq!(unordered(integer(float)) as u32, float.to_bits());
        }
        let wide = |float: f64| ordered(float.to_bits() as i64);
        assert_eq!(wide(f64::INFINITY), i64::MAX);
        assert!(wide(-f64::NAN) < wide(f64::NEG_INFINITY) && wide(-0.0) < wide(0.0));
    }
}
