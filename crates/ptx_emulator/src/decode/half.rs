//! Arithmetic on 16-bit floats, single or packed: exact in double precision, then rounded once.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{Half, LaneFn, Reg};
use super::program::Value;
use super::rounding::{BF16, F16, Format, NEAREST, two_sum};
use crate::error::ParseError;

impl Half {
    pub(super) fn of(ty: Ty) -> Option<Self> {
        Some(match ty {
            Ty::F16 => Half::F16,
            Ty::BF16 => Half::BF16,
            Ty::F16x2 => Half::F16x2,
            Ty::BF16x2 => Half::BF16x2,
            _ => return None,
        })
    }

    /// The sum, subnormals kept.
    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        self.apply(a, b, add)
    }

    /// The smaller one; a number rather than NaN.
    pub(crate) fn min(self, a: u64, b: u64) -> u64 {
        self.apply(a, b, min)
    }

    /// The larger one; a number rather than NaN.
    pub(crate) fn max(self, a: u64, b: u64) -> u64 {
        self.apply(a, b, max)
    }

    fn apply(self, a: u64, b: u64, f: HalfFn) -> u64 {
        let sources = [a, b, 0, 0];
        match self {
            Half::F16 => single(F16, sources, f),
            Half::BF16 => single(BF16, sources, f),
            Half::F16x2 => pairs(F16, sources, f),
            Half::BF16x2 => pairs(BF16, sources, f),
        }
    }
}

// Modifiers, as bits of the fourth operand, which no instruction uses.
/// Subnormal operands and results become zeros.
const FLUSH: u64 = 1;
/// Clamps to 0..=1, NaN to 0.
const SATURATE: u64 = 2;
/// Negative results become zero.
const RELU: u64 = 4;
/// Minimum and maximum are NaN if any operand is.
const KEEP_NAN: u64 = 8;
/// Minimum and maximum of magnitudes, with the product's sign.
const XOR_SIGN: u64 = 16;

/// One half of a pair: operands in the low 16 bits, modifiers in the fourth operand.
type HalfFn = fn(Format, [u64; 4]) -> u32;

/// The lane function for one format, and for pairs of it.
macro_rules! by_type {
    ($ty:expr, $function:expr) => {
        match $ty {
            Half::F16 => |s, _| (single(F16, s, $function), false),
            Half::BF16 => |s, _| (single(BF16, s, $function), false),
            Half::F16x2 => |s, _| (pairs(F16, s, $function), false),
            Half::BF16x2 => |s, _| (pairs(BF16, s, $function), false),
        }
    };
}

/// The modifiers of an instruction.
pub(super) struct Modifiers {
    pub(super) flush: bool,
    pub(super) saturate: bool,
    pub(super) keep_nan: bool,
    pub(super) xor_sign: bool,
}

/// `add`, `sub`, `mul`, `fma`, `min`, `max`, `neg`, `abs`.
pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    ty: Ty,
    modifiers: Modifiers,
) -> Result<(), ParseError> {
    let half = Half::of(ty).ok_or_else(|| form.unsupported())?;
    let relu = form.take("relu");
    let (eval, count): (LaneFn, usize) = match form.base {
        "add" => (by_type!(half, add), 2),
        "sub" => (by_type!(half, sub), 2),
        "mul" => (by_type!(half, mul), 2),
        "fma" => (by_type!(half, fma), 3),
        "min" => (by_type!(half, min), 2),
        "max" => (by_type!(half, max), 2),
        "neg" => (by_type!(half, neg), 1),
        "abs" => (by_type!(half, abs), 1),
        _ => return Err(form.unsupported()),
    };
    let brain = matches!(half, Half::BF16 | Half::BF16x2);
    let rounds = matches!(form.base, "add" | "sub" | "mul" | "fma");
    let Modifiers {
        flush,
        saturate,
        keep_nan,
        xor_sign,
    } = modifiers;
    let allowed = (!flush || !brain)
        && (!saturate || (rounds && !brain && !relu))
        && (!relu || form.base == "fma")
        && (!(keep_nan || xor_sign) || matches!(form.base, "min" | "max"));
    if !allowed {
        return Err(form.unsupported());
    }
    let flag = |flag: bool, bit: u64| if flag { bit } else { 0 };
    let around = flag(flush, FLUSH)
        | flag(saturate, SATURATE)
        | flag(relu, RELU)
        | flag(keep_nan, KEEP_NAN)
        | flag(xor_sign, XOR_SIGN);
    lanes(b, &form, ty, eval, count, around)
}

/// `ex2.approx`, `tanh.approx`: computed in double precision and rounded.
pub(super) fn function<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    flush: bool,
) -> Result<(), ParseError> {
    let half = Half::of(ty).ok_or_else(|| form.unsupported())?;
    let brain = matches!(half, Half::BF16 | Half::BF16x2);
    let eval: LaneFn = match form.base {
        // PTX has only the flushing form for bf16 and only the non-flushing one for f16.
        "ex2" if flush == brain => by_type!(half, |format, s| rounded(
            format,
            values(format, s)[0].exp2(),
            0.0,
            s[3]
        )),
        "tanh" if !flush => by_type!(half, |format, s| rounded(
            format,
            values(format, s)[0].tanh(),
            0.0,
            s[3]
        )),
        _ => return Err(form.unsupported()),
    };
    lanes(b, form, ty, eval, 1, if flush { FLUSH } else { 0 })
}

fn lanes<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    eval: LaneFn,
    count: usize,
    around: u64,
) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let [d, operands @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if operands.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let zero = Reg::R32(b.constant32(Value::Bits(0))?);
    let mut sources = [zero; 4];
    for (source, operand) in sources.iter_mut().zip(operands) {
        *source = b.source(form, operand, ty)?;
    }
    sources[3] = Reg::R32(b.constant32(Value::Bits(around))?);
    let d = b.target(form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}

fn single(format: Format, sources: [u64; 4], function: HalfFn) -> u64 {
    u64::from(function(format, sources))
}

fn pairs(format: Format, sources: [u64; 4], function: HalfFn) -> u64 {
    let [a, b, c, around] = sources;
    let half = |shift: u32| {
        let part = |bits: u64| bits >> shift & 0xffff;
        u64::from(function(format, [part(a), part(b), part(c), around]))
    };
    half(16) << 16 | half(0)
}

fn values(format: Format, sources: [u64; 4]) -> [f64; 3] {
    let [a, b, c, around] = sources;
    [a, b, c].map(|bits| format.decode(flushed(format, bits as u32, around)))
}

fn flushed(format: Format, bits: u32, around: u64) -> u32 {
    let subnormal = bits & 0x7fff < 1 << format.mantissa;
    if around & FLUSH != 0 && subnormal {
        bits & 0x8000
    } else {
        bits
    }
}

/// The bits of `value + tail`, rounded and modified.
fn rounded(format: Format, value: f64, tail: f64, around: u64) -> u32 {
    if around & SATURATE != 0 && (value.is_nan() || value <= 0.0) {
        return 0;
    }
    if around & SATURATE != 0 && value >= 1.0 {
        return format.encode(1.0, 0.0, NEAREST);
    }
    if around & RELU != 0 && value <= 0.0 {
        return 0;
    }
    // A result is flushed if it is subnormal even after rounding its significand with an unbounded
    // exponent.
    let smallest = format.decode(1 << format.mantissa);
    let tie = smallest * (1.0 - 2.0_f64.powi(-(format.mantissa as i32) - 2));
    if around & FLUSH != 0 && value.abs() < tie {
        return if value.is_sign_negative() { 0x8000 } else { 0 };
    }
    format.encode(value, tail, NEAREST)
}

fn sum(format: Format, a: f64, b: f64, around: u64) -> u32 {
    let (sum, tail) = two_sum(a, b);
    rounded(format, sum, tail, around)
}

fn add(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, _] = values(format, sources);
    sum(format, a, b, sources[3])
}

fn sub(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, _] = values(format, sources);
    sum(format, a, -b, sources[3])
}

fn mul(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, _] = values(format, sources);
    rounded(format, a * b, 0.0, sources[3])
}

fn fma(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, c] = values(format, sources);
    sum(format, a * b, c, sources[3])
}

fn neg(format: Format, sources: [u64; 4]) -> u32 {
    sign(format, sources, |bits| bits ^ 0x8000)
}

fn abs(format: Format, sources: [u64; 4]) -> u32 {
    sign(format, sources, |bits| bits & 0x7fff)
}

fn sign(format: Format, [a, .., around]: [u64; 4], change: fn(u32) -> u32) -> u32 {
    if format.decode(a as u32).is_nan() {
        format.nan
    } else {
        change(flushed(format, a as u32, around))
    }
}

fn min(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, |a, b| {
        a < b || (a == b && a.is_sign_negative())
    })
}

fn max(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, |a, b| {
        a > b || (a == b && a.is_sign_positive())
    })
}

fn extreme(format: Format, [a, b, _, around]: [u64; 4], first: fn(f64, f64) -> bool) -> u32 {
    let magnitudes = around & XOR_SIGN != 0;
    let [x, y] = [a, b].map(|bits| {
        let bits = flushed(format, bits as u32, around);
        if magnitudes { bits & 0x7fff } else { bits }
    });
    let (a_value, b_value) = (format.decode(x), format.decode(y));
    let result = match (a_value.is_nan(), b_value.is_nan()) {
        (true, true) => return format.nan,
        (true, false) | (false, true) if around & KEEP_NAN != 0 => return format.nan,
        (true, false) => y,
        (false, true) => x,
        _ if first(a_value, b_value) => x,
        _ => y,
    };
    if magnitudes {
        result | (a ^ b) as u32 & 0x8000
    } else {
        result
    }
}
