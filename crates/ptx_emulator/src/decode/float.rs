use super::builder::Builder;
use super::form::{Form, Ty};
use super::half;
use super::lane::Lane;
use super::op::{FloatFn, FloatOp, LaneFn, Op, Reg, Row};
use super::rounding::{self, DOWN, NEAREST, UP, ZERO, canonical, directed64, sum32, sum64, to_f32};
use crate::error::ParseError;

/// Whether an opcode that integers have too is meant for floats.
pub(super) fn is_float(form: &Form<'_, '_>) -> bool {
    let types = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"];
    form.text.split('.').any(|part| types.contains(&part))
}

/// How an instruction rounds: `.rn` and friends, `.approx` or `.full`.
fn rounding_mode(form: &mut Form<'_, '_>) -> Option<u8> {
    let mode = form.take_one_of(&["rn", "rz", "rm", "rp"])?;
    Some(match mode {
        "rz" => ZERO,
        "rm" => DOWN,
        "rp" => UP,
        _ => NEAREST,
    })
}

/// `.ftz` and `.sat`: what happens before and after the operation proper.
#[derive(Clone, Copy)]
struct Around {
    flush: bool,
    saturate: bool,
}

/// The instance of a lane function for a rounding mode.
macro_rules! rounded {
    ($mode:expr, $function:ident) => {
        match $mode {
            ZERO => $function::<ZERO> as LaneFn,
            DOWN => $function::<DOWN>,
            _ => $function::<UP>,
        }
    };
}

/// `add`, `sub`, `mul`, `mad`, `fma`, `div`, `min`, `max`, `neg`, `abs` of floats.
pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let mode = rounding_mode(&mut form);
    let approximate = form.take_one_of(&["approx", "full"]).is_some();
    let around = Around {
        flush: form.take("ftz"),
        saturate: form.take("sat"),
    };
    let keep_nan = form.take("NaN");
    let ty = form.ty()?;
    if !matches!(ty, Ty::F32 | Ty::F64) {
        if mode.is_some_and(|mode| mode != NEAREST)
            || approximate
            || around.flush
            || around.saturate
        {
            return Err(form.unsupported());
        }
        return half::arithmetic(b, form, ty, keep_nan);
    }
    if ty == Ty::F64 && (around.flush || around.saturate || approximate || keep_nan) {
        return Err(form.unsupported());
    }
    let base = form.base;
    if approximate != (base == "div" && mode.is_none())
        || (keep_nan && !matches!(base, "min" | "max"))
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
        if keep_nan {
            let eval: LaneFn = if op == FloatOp::Min { min_nan } else { max_nan };
            return wrap32(b, around, d, &[left, right], |b, d, s| {
                b.lane(Lane::to(Reg::R32(d)), eval, &r32(s))
            });
        }
        wrap32(b, around, d, &[left, right], |b, d, s| {
            if mode == NEAREST {
                b.emit(Op::Float32 {
                    op,
                    d,
                    a: s[0],
                    b: s[1],
                });
            } else {
                let eval = match op {
                    FloatOp::Add => rounded!(mode, add32),
                    FloatOp::Sub => rounded!(mode, sub32),
                    FloatOp::Mul => rounded!(mode, mul32),
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

fn r32(rows: &[Row]) -> Vec<Reg> {
    rows.iter().map(|&row| Reg::R32(row)).collect()
}

/// Flushes the operands, emits the operation, flushes and clamps its result, as far as the modifiers ask for it.
fn wrap32<'a, 'm>(
    b: &mut Builder<'a, 'm>,
    around: Around,
    d: Row,
    sources: &[Row],
    operation: impl FnOnce(&mut Builder<'a, 'm>, Row, &[Row]),
) -> Result<(), ParseError> {
    let mut flushed = sources.to_vec();
    if around.flush {
        for row in &mut flushed {
            let t = b.temp32()?;
            b.emit(Op::Flush { d: t, a: *row });
            *row = t;
        }
    }
    // A guard may be overwritten only by the last instruction, and only rows of 32 bits are written here.
    operation(b, d, &flushed);
    if around.flush {
        b.emit(Op::Flush { d, a: d });
    }
    if around.saturate {
        b.emit(Op::Saturate32 { d, a: d });
    }
    Ok(())
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
                    d,
                    a: s[0],
                    b: s[1],
                    c: s[2],
                });
            } else {
                b.lane(Lane::to(Reg::R32(d)), rounded!(mode, fma32), &r32(s));
            }
        })
    } else {
        if mode != NEAREST {
            return Err(form.unsupported());
        }
        let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
        let addend = b.source64(form, addend, ty)?;
        let d = b.target64(form, d)?;
        b.emit(Op::Fma64 {
            d,
            a: left,
            b: right,
            c: addend,
        });
        Ok(())
    }
}

fn unary<'a>(
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

/// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `copysign`, `testp`.
///
/// Approximate forms are computed in double precision and rounded: within every error that PTX allows.
pub(super) fn function<'a>(
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
        Ty::F32 => {
            let mode = mode.unwrap_or(NEAREST);
            let eval: LaneFn = match form.base {
                "rcp" if mode == NEAREST => return unary(b, &form, FloatFn::Recip, ty, around),
                "sqrt" if mode == NEAREST => return unary(b, &form, FloatFn::Sqrt, ty, around),
                "rcp" => rounded!(mode, recip32),
                "sqrt" => rounded!(mode, sqrt32),
                "rsqrt" => |[a, ..], _| through_f64(a, |x| 1.0 / x.sqrt()),
                "sin" => |[a, ..], _| through_f64(a, f64::sin),
                "cos" => |[a, ..], _| through_f64(a, f64::cos),
                "lg2" => |[a, ..], _| through_f64(a, f64::log2),
                "ex2" => |[a, ..], _| through_f64(a, f64::exp2),
                _ => |[a, ..], _| through_f64(a, f64::tanh),
            };
            // tanh has no `.ftz`: it keeps subnormals.
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
        // 20 bits of precision, computed from the upper half of the operand, with the lower half of the result zero.
        Ty::F64 if form.base == "rcp" && around.flush => {
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
    let flag_out = Some(b.only_pred(&form, p)?);
    b.lane(
        Lane {
            d: None,
            flag_out,
            flag_in: super::op::TRUE,
            divides: false,
        },
        eval,
        &[a],
    );
    Ok(())
}

// Directed rounding, lane by lane.

fn wide(bits: u64) -> f64 {
    f64::from(f32::from_bits(bits as u32))
}

fn single(value: f32) -> (u64, bool) {
    (u64::from(value.to_bits()), false)
}

fn double(nearest: f64, tail: f64, mode: u8) -> (u64, bool) {
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

fn recip32<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(1.0, wide(a));
    single(to_f32(value, tail, MODE))
}

fn sqrt32<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::root(wide(a));
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

fn mul64<const MODE: u8>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
    let product = a * b;
    if product == 0.0 && a != 0.0 && b != 0.0 {
        return double(product, 1.0_f64.copysign(product), MODE);
    }
    if product.is_infinite() && a.is_finite() && b.is_finite() {
        return double(product, -product, MODE);
    }
    // A tiny product is scaled, so that the error does not vanish; the smaller factor has room for it.
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

fn recip64<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::quotient(1.0, f64::from_bits(a));
    double(value, tail, MODE)
}

fn sqrt64<const MODE: u8>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let (value, tail) = rounding::root(f64::from_bits(a));
    double(value, tail, MODE)
}

fn min_nan([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    extreme_nan(a, b, |a, b| a < b || (a == b && a.is_sign_negative()))
}

fn max_nan([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    extreme_nan(a, b, |a, b| a > b || (a == b && a.is_sign_positive()))
}

/// Minimum or maximum that is NaN as soon as one operand is.
fn extreme_nan(a: u64, b: u64, first: fn(f32, f32) -> bool) -> (u64, bool) {
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    single(if x.is_nan() || y.is_nan() {
        canonical(f32::NAN)
    } else if first(x, y) {
        x
    } else {
        y
    })
}
