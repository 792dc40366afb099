//! What integer instructions compute, for one lane.

use super::form::Ty;
use super::lane::Integer;
use super::op::LaneFn;

pub(super) fn add_sat(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_add(b as i32) as u32)
}

pub(super) fn sub_sat(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_sub(b as i32) as u32)
}

pub(super) fn mad_high_sat(a: u64, b: u64, c: u64) -> u64 {
    let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
    u64::from((high as i32).saturating_add(c as i32) as u32)
}

pub(super) fn high_signed32(a: u64, b: u64) -> u64 {
    u64::from(((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32)
}

pub(super) fn sum<const BITS: u32>(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64 & (u64::MAX >> (64 - BITS)), sum >> BITS != 0)
}

/// The carry flag holds a borrow.
pub(super) fn difference<const BITS: u32>(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let difference = i128::from(a) - i128::from(b) - i128::from(borrow);
    (
        difference as u64 & (u64::MAX >> (64 - BITS)),
        difference < 0,
    )
}

pub(super) fn mul_high<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (high(T::from_bits(a), T::from_bits(b)).into_bits(), false)
}

pub(super) fn high<T: Integer>(a: T, b: T) -> T {
    // The product of two unsigned 64-bit numbers exceeds i128, but wraps to the correct bits of
    // u128.
    let product = a.wide().wrapping_mul(b.wide());
    T::wrap(((product as u128) >> T::BITS) as i128)
}

pub(super) fn mad_high<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let high = high(T::from_bits(a), T::from_bits(b));
    (
        T::wrap(high.wide() + T::from_bits(c).wide()).into_bits(),
        false,
    )
}

pub(super) fn mad_low_lane<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let product = T::from_bits(a).wide().wrapping_mul(T::from_bits(b).wide());
    (
        T::wrap(product.wrapping_add(T::from_bits(c).wide())).into_bits(),
        false,
    )
}

pub(super) fn sum_of_difference<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let difference = (T::from_bits(a).wide() - T::from_bits(b).wide()).abs();
    (
        T::wrap(difference + T::from_bits(c).wide()).into_bits(),
        false,
    )
}

pub(super) fn absolute<T: Integer>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (T::wrap(T::from_bits(a).wide().abs()).into_bits(), false)
}

pub(super) fn negate<T: Integer>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (T::wrap(-T::from_bits(a).wide()).into_bits(), false)
}

/// PTX leaves a division by zero undefined; an H200's quotient is all ones.
pub(super) fn quotient<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let quotient = T::from_bits(a).wide().checked_div(T::from_bits(b).wide());
    (T::wrap(quotient.unwrap_or(-1)).into_bits(), false)
}

pub(super) fn remainder<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let remainder = T::from_bits(a).wide().checked_rem(T::from_bits(b).wide());
    (T::wrap(remainder.unwrap_or(-1)).into_bits(), false)
}

/// The low 24 bits, sign-extended.
pub(super) fn low24(value: u64) -> i64 {
    i64::from((value as i32) << 8 >> 8)
}

/// Multiplies the low 24 bits: bits 0..32 or 16..48 of the product, plus a third operand (zero if
/// there is none).
pub(super) fn mul24(ty: Ty, high: bool) -> Option<LaneFn> {
    fn result(product: i64, shift: u32, addend: u64) -> (u64, bool) {
        (
            u64::from(((product >> shift) as u32).wrapping_add(addend as u32)),
            false,
        )
    }
    Some(match (ty, high) {
        (Ty::U32, false) => {
            |[a, b, c, _], _| result(((a & 0xff_ffff) * (b & 0xff_ffff)) as i64, 0, c)
        }
        (Ty::U32, true) => {
            |[a, b, c, _], _| result(((a & 0xff_ffff) * (b & 0xff_ffff)) as i64, 16, c)
        }
        (_, false) => |[a, b, c, _], _| result(low24(a) * low24(b), 0, c),
        (_, true) => |[a, b, c, _], _| result(low24(a) * low24(b), 16, c),
    })
}
