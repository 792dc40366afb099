//! Functions of one float, exact and approximate, and inspection of a float's bits.

use super::around::{Around, r32, single, wrap32};
use super::builder::Builder;
use super::float::{double, rounded, rounding_mode, unary, wide};
use super::form::{Form, Ty};
use super::half;
use super::lane::Lane;
use super::op::{FloatFn, Half, LaneFn, Reg};
use super::rounding::{self, DOWN, FLUSH, NEAREST, UP, ZERO, canonical, to_f32};
use crate::error::ParseError;

/// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `copysign`, `testp`.
///
/// Approximate forms are computed in double precision and rounded, which is within every error
/// bound of PTX.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    match form.base {
        "copysign" => return copy_sign(b, form),
        "testp" => return test_property(b, form),
        _ => {}
    }
    let mode = rounding_mode(&mut form);
    let approximate = form.take("approx");
    let around = Around {
        flush: form.take("ftz"),
        saturate: false,
    };
    let ty = form.ty()?;
    let exact = match (form.base, mode) {
        ("rcp" | "sqrt", Some(_)) if !approximate => true,
        (_, None) if approximate => false,
        _ => return Err(form.unsupported()),
    };
    match ty {
        _ if Half::of(ty).is_some() && !exact => half::function(b, &form, ty, around.flush),
        Ty::F32 => {
            let mode = mode.unwrap_or(NEAREST);
            let eval: LaneFn = match form.base {
                "rcp" if mode == NEAREST => return unary(b, &form, FloatFn::Recip, ty, around),
                "sqrt" if mode == NEAREST => return unary(b, &form, FloatFn::Sqrt, ty, around),
                "rcp" => rounded!(around.mode(mode), recip32),
                "sqrt" => rounded!(mode, sqrt32),
                "rsqrt" => |[a, ..], _| through_f64(a, |x| 1.0 / x.sqrt()),
                "sin" => |[a, ..], _| through_f64(a, f64::sin),
                "cos" => |[a, ..], _| through_f64(a, f64::cos),
                "lg2" => |[a, ..], _| through_f64(a, f64::log2),
                "ex2" => |[a, ..], _| through_f64(a, f64::exp2),
                _ => |[a, ..], _| through_f64(a, f64::tanh),
            };
            // tanh has no `.ftz`; it keeps subnormals.
            if form.base == "tanh" && around.flush {
                return Err(form.unsupported());
            }
            let [d, a] = form.finish()?;
            let a = b.source32(&form, a, ty)?;
            let d = b.target32(&form, d)?;
            wrap32(b, around, d, &[a], |b, d, s| {
                b.lane(Lane::to(Reg::R32(d)), eval, &r32(s))
            })
        }
        Ty::F64 if exact && !around.flush => {
            let mode = mode.unwrap_or(NEAREST);
            let eval = match form.base {
                "rcp" if mode == NEAREST => return unary(b, &form, FloatFn::Recip, ty, around),
                "sqrt" if mode == NEAREST => return unary(b, &form, FloatFn::Sqrt, ty, around),
                "rcp" => rounded!(mode, recip64),
                _ => rounded!(mode, sqrt64),
            };
            lane64(b, &form, eval)
        }
        // 20 bits of precision from the upper half of the operand; the lower half of the result is
        // zero.
        Ty::F64 if form.base == "rcp" && around.flush && !exact => {
            lane64(b, &form, |[a, ..], _| (coarse(a, |x| 1.0 / x), false))
        }
        Ty::F64 if form.base == "rsqrt" => {
            if around.flush {
                lane64(b, &form, |[a, ..], _| {
                    (coarse(a, |x| 1.0 / x.sqrt()), false)
                })
            } else {
                lane64(b, &form, |[a, ..], _| {
                    ((1.0 / f64::from_bits(a).sqrt()).to_bits(), false)
                })
            }
        }
        _ => Err(form.unsupported()),
    }
}

fn lane64<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    eval: LaneFn,
) -> Result<(), ParseError> {
    let [d, a] = form.finish()?;
    let a = b.source64(form, a, Ty::F64)?;
    let d = b.target64(form, d)?;
    b.lane(Lane::to(Reg::R64(d)), eval, &[Reg::R64(a)]);
    Ok(())
}

fn through_f64(a: u64, function: fn(f64) -> f64) -> (u64, bool) {
    let value = canonical(function(f64::from(f32::from_bits(a as u32))) as f32);
    (u64::from(value.to_bits()), false)
}

fn coarse(a: u64, function: fn(f64) -> f64) -> u64 {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let flush64 = |x: f64| {
        if x.is_subnormal() {
            0.0_f64.copysign(x)
        } else {
            x
        }
    };
    flush64(function(flush64(f64::from_bits(a & UPPER)))).to_bits() & UPPER
}

fn copy_sign<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let ty = form.ty()?;
    let eval: LaneFn = match ty {
        Ty::F32 => |[sign, value, ..], _| (value & 0x7fff_ffff | sign & 0x8000_0000, false),
        Ty::F64 => |[sign, value, ..], _| (value & (u64::MAX >> 1) | sign & (1 << 63), false),
        _ => return Err(form.unsupported()),
    };
    let [d, sign, value] = form.finish()?;
    let sources = [b.source(&form, sign, ty)?, b.source(&form, value, ty)?];
    let d = b.target(&form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}

fn test_property<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    fn float(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    let tests = [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    let test = form.take_one_of(&tests).ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    let eval: LaneFn = match (test, ty) {
        ("finite", Ty::F32) => |[a, ..], _| (0, float(a).is_finite()),
        ("infinite", Ty::F32) => |[a, ..], _| (0, float(a).is_infinite()),
        ("number", Ty::F32) => |[a, ..], _| (0, !float(a).is_nan()),
        ("notanumber", Ty::F32) => |[a, ..], _| (0, float(a).is_nan()),
        // Zero counts as normal.
        ("normal", Ty::F32) => |[a, ..], _| (0, float(a).is_normal() || float(a) == 0.0),
        ("subnormal", Ty::F32) => |[a, ..], _| (0, float(a).is_subnormal()),
        ("finite", Ty::F64) => |[a, ..], _| (0, f64::from_bits(a).is_finite()),
        ("infinite", Ty::F64) => |[a, ..], _| (0, f64::from_bits(a).is_infinite()),
        ("number", Ty::F64) => |[a, ..], _| (0, !f64::from_bits(a).is_nan()),
        ("notanumber", Ty::F64) => |[a, ..], _| (0, f64::from_bits(a).is_nan()),
        ("normal", Ty::F64) => {
            |[a, ..], _| (0, f64::from_bits(a).is_normal() || f64::from_bits(a) == 0.0)
        }
        ("subnormal", Ty::F64) => |[a, ..], _| (0, f64::from_bits(a).is_subnormal()),
        _ => return Err(form.unsupported()),
    };
    let [p, a] = form.finish()?;
    let a = b.source(&form, a, ty)?;
    let p = b.only_pred(&form, p)?;
    b.lane(Lane::to_flag(p), eval, &[a]);
    Ok(())
}

fn recip32<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(1.0, wide(a));
    single(to_f32(value, tail, MODE))
}

fn sqrt32<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::root(wide(a));
    single(to_f32(value, tail, MODE))
}

fn recip64<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(1.0, f64::from_bits(a));
    double(value, tail, MODE)
}

fn sqrt64<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::root(f64::from_bits(a));
    double(value, tail, MODE)
}
