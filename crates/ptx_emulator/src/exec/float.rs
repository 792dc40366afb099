//! Floating-point results as PTX fixes them where IEEE and Rust leave them open: NaNs, flushed results, minimum and maximum.

/// 32-bit instructions that make a NaN make this one.
#[inline(always)]
pub(super) fn bits32(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

/// Whether `.ftz` makes a zero of a result: when it is subnormal even after its 24 bits were rounded, as if the exponent
/// had no end.
#[inline(always)]
pub(super) fn flushes(exact: f64) -> bool {
    // Half a last place below the smallest normal number; the tie goes to the even number, which is the normal one.
    const TIE: f64 = f32::MIN_POSITIVE as f64 * (1.0 - 1.0 / 33_554_432.0);
    exact.abs() < TIE
}

/// A double rounded to a float: the one conversion whose NaN keeps sign and payload, as far as it fits.
#[inline(always)]
pub(super) fn narrow(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        ((bits >> 63) << 31) as u32 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x7f_ffff
    } else {
        (value as f32).to_bits()
    }
}

/// One NaN, so that every host and every kind of vector code gives the same bits.
#[inline(always)]
pub(super) fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        0x7ff8_0000_0000_0000
    } else {
        value.to_bits()
    }
}

/// The operand that is a number wins over NaN, and -0 is less than +0.
#[inline(always)]
pub(super) fn min32(x: f32, y: f32) -> f32 {
    let smaller = if x < y { x } else { y };
    let ordered = if x == y {
        f32::from_bits(x.to_bits() | y.to_bits())
    } else {
        smaller
    };
    if y.is_nan() { x } else { ordered }
}

#[inline(always)]
pub(super) fn max32(x: f32, y: f32) -> f32 {
    let larger = if x > y { x } else { y };
    let ordered = if x == y {
        f32::from_bits(x.to_bits() & y.to_bits())
    } else {
        larger
    };
    if y.is_nan() { x } else { ordered }
}

#[inline(always)]
pub(super) fn min64(x: f64, y: f64) -> f64 {
    let smaller = if x < y { x } else { y };
    let ordered = if x == y {
        f64::from_bits(x.to_bits() | y.to_bits())
    } else {
        smaller
    };
    if y.is_nan() { x } else { ordered }
}

#[inline(always)]
pub(super) fn max64(x: f64, y: f64) -> f64 {
    let larger = if x > y { x } else { y };
    let ordered = if x == y {
        f64::from_bits(x.to_bits() & y.to_bits())
    } else {
        larger
    };
    if y.is_nan() { x } else { ordered }
}
