//! `min` and `max` of 32-bit floats with modifiers, or of three operands.

use super::around::{Around, r32, single, wrap32};
use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{LaneFn, Reg};
use super::rounding::canonical;
use crate::error::ParseError;

/// `min` and `max` with `.NaN`, `.xorsign.abs` or three operands; the common modifiers are already
/// taken from `form`.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    (keep_nan, xor_sign): (bool, bool),
    around: Around,
) -> Result<(), ParseError> {
    let max = form.base == "max";
    let (d, sources, eval) = if form.operands.len() == 4 {
        let magnitudes = form.take("abs");
        let [d, sources @ ..] = form.finish::<4>()?;
        if xor_sign {
            return Err(form.unsupported());
        }
        (d, sources.to_vec(), of_three(max, keep_nan, magnitudes))
    } else {
        let [d, sources @ ..] = form.finish::<3>()?;
        (d, sources.to_vec(), of_two(max, keep_nan, xor_sign))
    };
    let rows = sources
        .into_iter()
        .map(|source| b.source32(&form, source, Ty::F32));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let d = b.target32(&form, d)?;
    wrap32(b, around, d, &rows, |b, d, s| {
        b.lane(Lane::to(Reg::R32(d)), eval, &r32(s));
    })
}

fn of_two(max: bool, keep_nan: bool, xor_sign: bool) -> LaneFn {
    match (max, keep_nan, xor_sign) {
        (false, false, false) => two::<false, false, false>,
        (false, false, true) => two::<false, false, true>,
        (false, true, false) => two::<false, true, false>,
        (false, true, true) => two::<false, true, true>,
        (true, false, false) => two::<true, false, false>,
        (true, false, true) => two::<true, false, true>,
        (true, true, false) => two::<true, true, false>,
        (true, true, true) => two::<true, true, true>,
    }
}

fn of_three(max: bool, keep_nan: bool, magnitudes: bool) -> LaneFn {
    match (max, keep_nan, magnitudes) {
        (false, false, false) => three::<false, false, false>,
        (false, false, true) => three::<false, false, true>,
        (false, true, false) => three::<false, true, false>,
        (false, true, true) => three::<false, true, true>,
        (true, false, false) => three::<true, false, false>,
        (true, false, true) => three::<true, false, true>,
        (true, true, false) => three::<true, true, false>,
        (true, true, true) => three::<true, true, true>,
    }
}

/// With `KEEP_NAN` the result is NaN if either operand is. With `XOR_SIGN` it is the extreme of the
/// magnitudes, with the sign of the operands' product.
fn two<const MAX: bool, const KEEP_NAN: bool, const XOR_SIGN: bool>(
    [a, b, ..]: [u64; 4],
    _: bool,
) -> (u64, bool) {
    let [x, y] = [a, b].map(operand::<XOR_SIGN>);
    let result = extreme::<MAX, KEEP_NAN>(x, y);
    if XOR_SIGN && !result.is_nan() {
        return (u64::from(result.to_bits()) | (a ^ b) & 0x8000_0000, false);
    }
    single(canonical(result))
}

fn three<const MAX: bool, const KEEP_NAN: bool, const MAGNITUDES: bool>(
    [a, b, c, _]: [u64; 4],
    _: bool,
) -> (u64, bool) {
    let [x, y, z] = [a, b, c].map(operand::<MAGNITUDES>);
    let result = extreme::<MAX, KEEP_NAN>(extreme::<MAX, KEEP_NAN>(x, y), z);
    single(canonical(result))
}

fn operand<const MAGNITUDE: bool>(bits: u64) -> f32 {
    let value = f32::from_bits(bits as u32);
    if MAGNITUDE { value.abs() } else { value }
}

/// −0 is less than +0; the result is NaN if both operands are, or with `KEEP_NAN` if one is.
fn extreme<const MAX: bool, const KEEP_NAN: bool>(x: f32, y: f32) -> f32 {
    let x_first = if MAX {
        x > y || (x == y && x.is_sign_positive())
    } else {
        x < y || (x == y && x.is_sign_negative())
    };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => f32::NAN,
        (true, false) | (false, true) if KEEP_NAN => f32::NAN,
        (true, false) => y,
        (false, true) => x,
        _ if x_first => x,
        _ => y,
    }
}
