//! Arithmetic of 16-bit floats, alone or in pairs: exact in double precision, then rounded once.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::LaneFn;
use super::rounding::{BF16, F16, Format, NEAREST, two_sum};
use crate::error::ParseError;

/// The lane function for one format, and for pairs of it.
macro_rules! by_type {
    ($ty:expr, $function:expr) => {
        match $ty {
            Ty::F16 => |s, _| (u64::from($function(F16, s)), false),
            Ty::BF16 => |s, _| (u64::from($function(BF16, s)), false),
            Ty::F16x2 => |s, _| (pairs(F16, s, $function), false),
            _ => |s, _| (pairs(BF16, s, $function), false),
        }
    };
}

pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    ty: Ty,
    keep_nan: bool,
) -> Result<(), ParseError> {
    let (eval, count): (LaneFn, usize) = match form.base {
        "add" => (by_type!(ty, add), 2),
        "sub" => (by_type!(ty, sub), 2),
        "mul" => (by_type!(ty, mul), 2),
        "fma" => (by_type!(ty, fma), 3),
        "min" if keep_nan => (by_type!(ty, min_nan), 2),
        "max" if keep_nan => (by_type!(ty, max_nan), 2),
        "min" => (by_type!(ty, min), 2),
        "max" => (by_type!(ty, max), 2),
        "neg" => (by_type!(ty, neg), 1),
        "abs" => (by_type!(ty, abs), 1),
        _ => return Err(form.unsupported()),
    };
    form.no_more_modifiers()?;
    let [d, sources @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if sources.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let sources: Result<Vec<_>, _> = sources
        .iter()
        .map(|source| b.source(&form, source, ty))
        .collect();
    let d = b.target(&form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources?);
    Ok(())
}

fn pairs(format: Format, sources: [u64; 4], function: fn(Format, [u64; 4]) -> u32) -> u64 {
    let low = function(format, sources.map(|bits| bits & 0xffff));
    let high = function(format, sources.map(|bits| bits >> 16 & 0xffff));
    u64::from(high) << 16 | u64::from(low)
}

fn values(format: Format, sources: [u64; 4]) -> [f64; 4] {
    sources.map(|bits| format.decode(bits as u32))
}

fn sum(format: Format, a: f64, b: f64) -> u32 {
    let (sum, tail) = two_sum(a, b);
    format.encode(sum, tail, NEAREST)
}

fn add(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, ..] = values(format, sources);
    sum(format, a, b)
}

fn sub(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, ..] = values(format, sources);
    sum(format, a, -b)
}

fn mul(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, ..] = values(format, sources);
    format.encode(a * b, 0.0, NEAREST)
}

fn fma(format: Format, sources: [u64; 4]) -> u32 {
    let [a, b, c, _] = values(format, sources);
    sum(format, a * b, c)
}

fn neg(_: Format, [a, ..]: [u64; 4]) -> u32 {
    a as u32 ^ 0x8000
}

fn abs(_: Format, [a, ..]: [u64; 4]) -> u32 {
    a as u32 & 0x7fff
}

fn min(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, false, |a, b| {
        a < b || (a == b && a.is_sign_negative())
    })
}

fn max(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, false, |a, b| {
        a > b || (a == b && a.is_sign_positive())
    })
}

fn min_nan(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, true, |a, b| {
        a < b || (a == b && a.is_sign_negative())
    })
}

fn max_nan(format: Format, sources: [u64; 4]) -> u32 {
    extreme(format, sources, true, |a, b| {
        a > b || (a == b && a.is_sign_positive())
    })
}

fn extreme(format: Format, sources: [u64; 4], keep_nan: bool, first: fn(f64, f64) -> bool) -> u32 {
    let [a, b, ..] = values(format, sources);
    match (a.is_nan(), b.is_nan()) {
        (true, true) => format.nan,
        (true, false) | (false, true) if keep_nan => format.nan,
        (true, false) => sources[1] as u32,
        (false, true) => sources[0] as u32,
        _ => (if first(a, b) { sources[0] } else { sources[1] }) as u32,
    }
}
