//! Float results that PTX fixes and IEEE 754 or Rust leave open: NaNs, flushing, minimum and
//! maximum.

/// The NaN that 32-bit instructions generate.
#[inline(always)]
pub(super) fn bits32(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

/// Whether `.ftz` flushes a result: it is subnormal even after rounding its 24 bits with an
/// unbounded exponent.
#[inline(always)]
pub(super) fn flushes(exact: f64) -> bool {
    // Half a unit in the last place below the smallest normal number; the tie rounds to the even
    // number, which is normal.
    const TIE: f64 = f32::MIN_POSITIVE as f64 * (1.0 - 1.0 / 33_554_432.0);
    exact.abs() < TIE
}

/// Rounds a double to a float. A NaN keeps its sign and as much of the payload as fits.
#[inline(always)]
pub(super) fn narrow(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        ((bits >> 63) << 31) as u32 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x7f_ffff
    } else {
        (value as f32).to_bits()
    }
}

/// Widens a float. A NaN keeps its sign and payload and becomes quiet, as on the H200.
#[inline(always)]
pub(super) fn widen(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        u64::from(bits >> 31) << 63 | 0x7ff8_0000_0000_0000 | u64::from(bits & 0x7f_ffff) << 29
    } else {
        f64::from(value).to_bits()
    }
}

/// A canonical NaN, so that every host and all vector code give the same bits.
#[inline(always)]
pub(super) fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        0x7ff8_0000_0000_0000
    } else {
        value.to_bits()
    }
}

/// A double whose sign an instruction changes: of a NaN it only sets the quiet bit.
#[inline(always)]
pub(super) fn signed64(bits: u64, changed: u64) -> u64 {
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    let is_nan = bits & (u64::MAX >> 1) > INFINITY;
    if is_nan { bits | 1 << 51 } else { changed }
}

macro_rules! extremes {
    ($($min:ident, $max:ident: $float:ty;)*) => {$(
        /// A number wins over NaN, and -0 is less than +0.
        #[inline(always)]
        pub(super) fn $min(x: $float, y: $float) -> $float {
            let smaller = if x < y { x } else { y };
            let ordered = if x == y { <$float>::from_bits(x.to_bits() | y.to_bits()) } else { smaller };
            if y.is_nan() { x } else { ordered }
        }

        /// A number wins over NaN, and +0 is more than -0.
        #[inline(always)]
        pub(super) fn $max(x: $float, y: $float) -> $float {
            let larger = if x > y { x } else { y };
            let ordered = if x == y { <$float>::from_bits(x.to_bits() & y.to_bits()) } else { larger };
            if y.is_nan() { x } else { ordered }
        }
    )*};
}

extremes! {
    min32, max32: f32;
    min64, max64: f64;
}
