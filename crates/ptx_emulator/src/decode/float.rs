use super::around::{Around, r32, single, wrap32};
use super::builder::Builder;
use super::extreme;
use super::form::{Form, Ty};
use super::fused;
use super::half;
use super::lane::Lane;
use super::op::{FloatFn, FloatOp, LaneFn, Op, Reg};
use super::rounding::{
    self, DOWN, FLUSH, NEAREST, UP, ZERO, canonical, directed64, sum32, sum64, to_f32,
};
use crate::error::ParseError;

/// Whether an opcode shared with integers is a float instruction here.
pub(super) fn is_float(form: &Form<'_, '_>) -> bool {
    let types = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"];
    form.text.split('.').any(|part| types.contains(&part))
}

/// The rounding mode: `.rn` and the like, `.approx` or `.full`.
pub(super) fn rounding_mode(form: &mut Form<'_, '_>) -> Option<u8> {
    let mode = form.take_one_of(&["rn", "rz", "rm", "rp"])?;
    Some(match mode {
        "rz" => ZERO,
        "rm" => DOWN,
        "rp" => UP,
        _ => NEAREST,
    })
}

/// The instance of a lane function for a rounding mode, optionally with [`FLUSH`].
macro_rules! rounded {
    ($mode:expr, $function:ident) => {
        match $mode {
            NEAREST => $function::<NEAREST> as LaneFn,
            ZERO => $function::<ZERO>,
            DOWN => $function::<DOWN>,
            UP => $function::<UP>,
            mode => match mode & !FLUSH {
                NEAREST => $function::<{ NEAREST | FLUSH }>,
                ZERO => $function::<{ ZERO | FLUSH }>,
                DOWN => $function::<{ DOWN | FLUSH }>,
                _ => $function::<{ UP | FLUSH }>,
            },
        }
    };
}
pub(super) use rounded;

/// `add`, `sub`, `mul`, `mad`, `fma`, `div`, `min`, `max`, `neg`, `abs` of floats.
pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let mode = rounding_mode(&mut form);
    let approximate = form.take_one_of(&["approx", "full"]);
    let around = Around {
        flush: form.take("ftz"),
        saturate: form.take("sat"),
    };
    let keep_nan = form.take("NaN");
    let xor_sign = form.take("xorsign");
    if xor_sign && !form.take("abs") {
        return Err(form.unsupported());
    }
    let ty = form.ty()?;
    if !matches!(ty, Ty::F32 | Ty::F64) {
        let nearest = match mode {
            Some(mode) => mode == NEAREST && matches!(form.base, "add" | "sub" | "mul" | "fma"),
            None => form.base != "fma",
        };
        if !nearest || approximate.is_some() {
            return Err(form.unsupported());
        }
        let modifiers = half::Modifiers {
            flush: around.flush,
            saturate: around.saturate,
            keep_nan,
            xor_sign,
        };
        return half::arithmetic(b, form, ty, modifiers);
    }
    let special = keep_nan || xor_sign;
    if ty == Ty::F64 && (around.flush || around.saturate || approximate.is_some() || special) {
        return Err(form.unsupported());
    }
    let base = form.base;
    if approximate.is_some() != (base == "div" && mode.is_none())
        || (special && !matches!(base, "min" | "max"))
    {
        return Err(form.unsupported());
    }
    let mode_required = matches!(base, "fma" | "mad");
    if (mode_required && mode.is_none())
        || (mode.is_some() && matches!(base, "min" | "max" | "neg" | "abs"))
    {
        return Err(form.unsupported());
    }
    if around.saturate && !matches!(base, "add" | "sub" | "mul" | "fma" | "mad") {
        return Err(form.unsupported());
    }
    if ty == Ty::F32 && matches!(base, "min" | "max") && (special || form.operands.len() == 4) {
        return extreme::decode(b, form, (keep_nan, xor_sign), around);
    }
    let mode = mode.unwrap_or(NEAREST);
    let op = match base {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        "div" => FloatOp::Div,
        "min" => FloatOp::Min,
        "max" => FloatOp::Max,
        "neg" => return unary(b, &form, FloatFn::Neg, ty, around),
        "abs" => return unary(b, &form, FloatFn::Abs, ty, around),
        _ => return multiply_add(b, &form, ty, mode, around),
    };
    let [d, left, right] = form.finish()?;
    if ty == Ty::F32 {
        let (left, right) = (b.source32(&form, left, ty)?, b.source32(&form, right, ty)?);
        let d = b.target32(&form, d)?;
        if approximate == Some("approx") {
            return wrap32(b, around, d, &[left, right], |b, d, s| {
                b.lane(Lane::to(Reg::R32(d)), divide_approximately, &r32(s));
            });
        }
        wrap32(b, around, d, &[left, right], |b, d, s| {
            // Of the operations with a vector form, only these two produce subnormal results that
            // `.ftz` flushes after rounding.
            let op = if op == FloatOp::Mul && around.flush {
                FloatOp::MulFlushed
            } else {
                op
            };
            if mode == NEAREST && !(around.flush && op == FloatOp::Div) {
                b.emit(Op::Float32 {
                    op,
                    d,
                    a: s[0],
                    b: s[1],
                });
            } else {
                let mode = around.mode(mode);
                let eval = match op {
                    FloatOp::Add => rounded!(mode, add32),
                    FloatOp::Sub => rounded!(mode, sub32),
                    FloatOp::Mul | FloatOp::MulFlushed => rounded!(mode, mul32),
                    _ => rounded!(mode, div32),
                };
                b.lane(Lane::to(Reg::R32(d)), eval, &r32(s));
            }
        })
    } else {
        let (left, right) = (b.source64(&form, left, ty)?, b.source64(&form, right, ty)?);
        let d = b.target64(&form, d)?;
        if mode == NEAREST {
            b.emit(Op::Float64 {
                op,
                d,
                a: left,
                b: right,
            });
        } else {
            let eval = match op {
                FloatOp::Add => rounded!(mode, add64),
                FloatOp::Sub => rounded!(mode, sub64),
                FloatOp::Mul => rounded!(mode, mul64),
                _ => rounded!(mode, div64),
            };
            b.lane(
                Lane::to(Reg::R64(d)),
                eval,
                &[Reg::R64(left), Reg::R64(right)],
            );
        }
        Ok(())
    }
}

fn multiply_add<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    mode: u8,
    around: Around,
) -> Result<(), ParseError> {
    let [d, left, right, addend] = form.finish()?;
    if ty == Ty::F32 {
        let sources = [
            b.source32(form, left, ty)?,
            b.source32(form, right, ty)?,
            b.source32(form, addend, ty)?,
        ];
        let d = b.target32(form, d)?;
        wrap32(b, around, d, &sources, |b, d, s| {
            if mode == NEAREST {
                b.emit(Op::Fma32 {
                    flush: around.flush,
                    d,
                    a: s[0],
                    b: s[1],
                    c: s[2],
                });
            } else {
                let eval = rounded!(around.mode(mode), fma32);
                b.lane(Lane::to(Reg::R32(d)), eval, &r32(s));
            }
        })
    } else {
        let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
        let addend = b.source64(form, addend, ty)?;
        let d = b.target64(form, d)?;
        if mode != NEAREST {
            let sources = [left, right, addend].map(Reg::R64);
            b.lane(Lane::to(Reg::R64(d)), rounded!(mode, fma64), &sources);
            return Ok(());
        }
        b.emit(Op::Fma64 {
            d,
            a: left,
            b: right,
            c: addend,
        });
        Ok(())
    }
}

pub(super) fn unary<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    op: FloatFn,
    ty: Ty,
    around: Around,
) -> Result<(), ParseError> {
    let [d, a] = form.finish()?;
    if ty == Ty::F32 {
        let a = b.source32(form, a, ty)?;
        let d = b.target32(form, d)?;
        wrap32(b, around, d, &[a], |b, d, s| {
            b.emit(Op::FloatFn32 { op, d, a: s[0] })
        })
    } else {
        let a = b.source64(form, a, ty)?;
        let d = b.target64(form, d)?;
        b.emit(Op::FloatFn64 { op, d, a });
        Ok(())
    }
}

// Directed rounding: lane by lane.

pub(super) fn wide(bits: u64) -> f64 {
    f64::from(f32::from_bits(bits as u32))
}

pub(super) fn double(nearest: f64, tail: f64, mode: u8) -> (u64, bool) {
    (directed64(nearest, tail, mode).to_bits(), false)
}

fn add32<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    single(sum32(wide(a), wide(b), MODE))
}

fn sub32<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    single(sum32(wide(a), -wide(b), MODE))
}

fn mul32<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    single(to_f32(wide(a) * wide(b), 0.0, MODE))
}

fn fma32<const MODE: u8>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    single(sum32(wide(a) * wide(b), wide(c), MODE))
}

fn div32<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(wide(a), wide(b));
    single(to_f32(value, tail, MODE))
}

fn add64<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (
        sum64(f64::from_bits(a), f64::from_bits(b), MODE).to_bits(),
        false,
    )
}

fn sub64<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (
        sum64(f64::from_bits(a), -f64::from_bits(b), MODE).to_bits(),
        false,
    )
}

fn fma64<const MODE: u8>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let [a, b, c] = [a, b, c].map(f64::from_bits);
    (fused::multiply_add(a, b, c, MODE).to_bits(), false)
}

fn mul64<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
    let product = a * b;
    if product == 0.0 && a != 0.0 && b != 0.0 {
        return double(product, 1.0_f64.copysign(product), MODE);
    }
    if product.is_infinite() && a.is_finite() && b.is_finite() {
        return double(product, -product, MODE);
    }
    // Tiny products are scaled so that the error term does not underflow; the smaller factor has
    // the range for it.
    let scale = if product.abs() < 1e-270 {
        2.0_f64.powi(300)
    } else {
        1.0
    };
    let (small, large) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
    double(
        product,
        (small * scale).mul_add(large, -product * scale),
        MODE,
    )
}

fn div64<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(f64::from_bits(a), f64::from_bits(b));
    double(value, tail, MODE)
}

/// `div.approx` returns zero for divisors of 2^126 and above, because their reciprocal flushes to
/// zero.
fn divide_approximately([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    let reciprocal_is_zero = y.abs() > f32::from_bits(0x7e80_0000) && y.is_finite();
    let divisor = if reciprocal_is_zero {
        f32::INFINITY.copysign(y)
    } else {
        y
    };
    single(canonical(x / divisor))
}
