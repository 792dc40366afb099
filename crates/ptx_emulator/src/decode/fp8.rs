//! Conversions between pairs of 8-bit floats and wider ones.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{LaneFn, Reg};
use super::program::Value;
use super::rounding::{F16, Format, NEAREST};
use crate::error::ParseError;

/// An 8-bit float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fp8 {
    /// No infinities; the largest encoding of each sign is NaN.
    E4M3,
    /// As IEEE 754 defines it.
    E5M2,
}

/// NaN, in both formats.
const NAN: u32 = 0x7f;
/// Added to a format's number: negative results become zero.
const RELU: u64 = 2;
/// Above the range of both formats, and small enough to count steps exactly.
const BEYOND: f64 = 1e6;

impl Fp8 {
    /// Parses the name of a pair.
    pub(super) fn take(form: &mut Form<'_, '_>) -> Option<Self> {
        Some(match form.take_one_of(&["e4m3x2", "e5m2x2"])? {
            "e4m3x2" => Fp8::E4M3,
            _ => Fp8::E5M2,
        })
    }

    fn of(code: u64) -> Self {
        if code & 1 == 0 { Fp8::E4M3 } else { Fp8::E5M2 }
    }

    /// The nearest value, saturating to the largest finite one.
    fn encode(self, value: f64) -> u32 {
        if value.is_nan() {
            return NAN;
        }
        let (mantissa, exponent, largest) = match self {
            Fp8::E4M3 => (3, 4, 0x7e),
            Fp8::E5M2 => (2, 5, 0x7b),
        };
        let format = Format {
            mantissa,
            exponent,
            nan: NAN,
        };
        let bits = format.round(value.clamp(-BEYOND, BEYOND), 0.0, NEAREST);
        bits.min(largest) | u32::from(value.is_sign_negative()) << 7
    }

    /// Decodes the low 8 bits.
    pub(super) fn decode(self, bits: u32) -> f64 {
        let bits = bits & 0xff;
        let exponent = bits >> 3 & 15;
        let magnitude = match self {
            // The format is the upper half of an f16.
            Fp8::E5M2 => return F16.decode(bits << 8),
            Fp8::E4M3 if bits & NAN == NAN => return f64::NAN,
            Fp8::E4M3 if exponent == 0 => f64::from(bits & 7) * 2.0_f64.powi(-9),
            Fp8::E4M3 => f64::from(bits & 7 | 8) * 2.0_f64.powi(exponent as i32 - 10),
        };
        if bits >> 7 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }
}

/// With `.relu`, negative values and negative zero become zero.
fn relu(value: f64, code: u64) -> f64 {
    if code & RELU != 0 && value <= 0.0 {
        0.0
    } else {
        value
    }
}

/// `cvt.rn.satfinite.e4m3x2.f32 d, a, b` (a to the upper half),
/// `cvt.rn.satfinite.e4m3x2.f16x2 d, a` and `cvt.rn.f16x2.e4m3x2 d, a`
pub(super) fn convert<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    format: Fp8,
) -> Result<(), ParseError> {
    let rounds = form.take("rn");
    let saturates = form.take("satfinite");
    let relu = form.take("relu");
    let wide = form.ty()?;
    form.no_more_modifiers()?;
    let narrows = !form.text.ends_with("x2.e4m3x2") && !form.text.ends_with("x2.e5m2x2");
    if !rounds || saturates != narrows {
        return Err(form.unsupported());
    }
    let code = u64::from(format == Fp8::E5M2) | if relu { RELU } else { 0 };
    let code = Reg::R64(b.constant64(Value::Bits(code))?);
    let (d, eval, sources) = match (wide, narrows, form.operands) {
        (Ty::F32, true, [d, high, low]) => {
            let [high, low] = [high, low].map(|operand| b.source(&form, operand, Ty::F32));
            let d = b.target(&form, d, Ty::B16)?;
            (d, from_floats as LaneFn, vec![code, high?, low?])
        }
        (Ty::F16x2, true, [d, a]) => {
            let a = Reg::R32(b.r32(&form, a)?);
            let d = b.target(&form, d, Ty::B16)?;
            (d, from_halves as LaneFn, vec![code, a])
        }
        (Ty::F16x2, false, [d, a]) => {
            let a = Reg::R16(b.r16(&form, a)?);
            let d = b.target(&form, d, Ty::B32)?;
            (d, to_halves as LaneFn, vec![code, a])
        }
        (Ty::F32, true, _) | (Ty::F16x2, ..) => {
            return Err(form.wrong("has another number of operands"));
        }
        _ => return Err(form.unsupported()),
    };
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}

fn from_floats([code, high, low, _]: [u64; 4], _: bool) -> (u64, bool) {
    let half = |bits: u64| {
        let value = f64::from(f32::from_bits(bits as u32));
        u64::from(Fp8::of(code).encode(relu(value, code)))
    };
    (half(high) << 8 | half(low), false)
}

fn from_halves([code, pair, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let half = |bits: u64| {
        let value = F16.decode(bits as u32 & 0xffff);
        u64::from(Fp8::of(code).encode(relu(value, code)))
    };
    (half(pair >> 16) << 8 | half(pair), false)
}

fn to_halves([code, pair, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let half = |bits: u64| {
        let value = Fp8::of(code).decode(bits as u32);
        u64::from(F16.encode(relu(value, code), 0.0, NEAREST))
    };
    (half(pair >> 8) << 16 | half(pair), false)
}
