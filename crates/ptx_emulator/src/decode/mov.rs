//! `mov`: registers, addresses, and vectors packed into one register or unpacked from it.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{Op, PredOp, Reg, TRUE};
use super::operand::{SINK, is_sink};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

/// `mov`, between registers and from addresses, special registers and vectors of halves.
pub(super) fn mov<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let ty = form.ty()?;
    let [d, a] = form.finish()?;
    if let Operand::Name(name) = *a
        && let Some(name) = name.strip_prefix('%')
        && let "clock" | "clock_hi" | "clock64" | "globaltimer" | "globaltimer_lo"
        | "globaltimer_hi" = name
    {
        return clock(b, &form, ty, d, name);
    }
    match (ty, d, a) {
        (Ty::Pred, ..) => {
            let p = b.pred(&form, a)?;
            let d = b.only_pred(&form, d)?;
            b.emit(Op::Logic {
                op: PredOp::And,
                d,
                a: p,
                b: TRUE,
            });
        }
        (Ty::B128, ..) => mov128(b, &form, d, a)?,
        (_, _, Operand::Vector(parts)) => pack(b, &form, ty, d, parts)?,
        (_, Operand::Vector(parts), _) => unpack(b, &form, ty, parts, a)?,
        _ => {
            let a = b.source(&form, a, ty)?;
            match (b.target(&form, d, ty)?, a) {
                (Reg::R16(d), Reg::R16(a)) | (Reg::R32(d), Reg::R32(a)) => {
                    b.emit(Op::Mov32 { d, a })
                }
                (Reg::R64(d), Reg::R64(a)) => b.emit(Op::Mov64 { d, a }),
                _ => return Err(form.unsupported()),
            }
        }
    }
    Ok(())
}

/// `mov.u64 d, %clock64` and the other clocks, or a half of them.
fn clock<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    d: &Operand<'a>,
    name: &str,
) -> Result<(), ParseError> {
    let is_wide = matches!(name, "clock64" | "globaltimer");
    if (ty.size() == 8) != is_wide {
        return Err(form.unsupported());
    }
    if !name.ends_with("_hi") {
        let d = b.target(form, d, ty)?;
        b.emit(Op::Clock { d });
        return Ok(());
    }
    let (high, a) = (b.target32(form, d)?, b.temp64()?);
    b.emit(Op::Clock { d: Reg::R64(a) });
    b.emit(Op::Unpack { low: SINK, high, a });
    Ok(())
}

/// `mov.b128 d, {low, high}` and back, or between registers.
fn mov128<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    d: &Operand<'a>,
    a: &Operand<'a>,
) -> Result<(), ParseError> {
    let sources = match a {
        Operand::Vector(parts) => match parts.as_slice() {
            [low, high] => [b.r64(form, low)?, b.r64(form, high)?],
            _ => return Err(form.wrong("takes two 64-bit registers")),
        },
        register => b.r128(form, register)?,
    };
    let targets = match d {
        Operand::Vector(parts) if !matches!(a, Operand::Vector(_)) => {
            let mut half = |part| match is_sink(part) {
                true => Ok(SINK),
                false => b.target64(form, part),
            };
            match parts.as_slice() {
                [low, high] => [half(low)?, half(high)?],
                _ => return Err(form.wrong("takes two 64-bit registers")),
            }
        }
        register => b.r128(form, register)?,
    };
    for (d, a) in targets.into_iter().zip(sources) {
        if d != SINK {
            b.emit(Op::Mov64 { d, a });
        }
    }
    Ok(())
}

/// `mov.b64 d, {low, high}`, `mov.b32 d, {low, high}`, `mov.b64 d, {a, b, c, d}`
fn pack<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    d: &Operand<'a>,
    parts: &[Operand<'a>],
) -> Result<(), ParseError> {
    match (ty, parts) {
        (Ty::B64, [low, high]) => {
            let (low, high) = (b.r32(form, low)?, b.r32(form, high)?);
            let d = b.target64(form, d)?;
            b.emit(Op::Pack { d, low, high });
        }
        (Ty::B32, [_, _]) | (Ty::B64, [_, _, _, _]) => {
            let mut sources = Vec::new();
            for part in parts {
                sources.push(Reg::R16(b.r16(form, part)?));
            }
            let d = b.target(form, d, ty)?;
            b.lane(
                Lane::to(d),
                |[x, y, z, w], _| (x | y << 16 | z << 32 | w << 48, false),
                &sources,
            );
        }
        _ => return Err(form.unsupported()),
    }
    Ok(())
}

fn unpack<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    parts: &[Operand<'a>],
    a: &Operand<'a>,
) -> Result<(), ParseError> {
    match (ty, parts) {
        (Ty::B64, [low, high]) => {
            let a = b.r64(form, a)?;
            let mut half = |part| {
                if is_sink(part) {
                    Ok(SINK)
                } else {
                    b.target32(form, part)
                }
            };
            let (low, high) = (half(low)?, half(high)?);
            b.emit(Op::Unpack { low, high, a });
        }
        (Ty::B32, [_, _]) | (Ty::B64, [_, _, _, _]) => {
            let a = b.source(form, a, ty)?;
            for (index, part) in parts.iter().enumerate() {
                if is_sink(part) {
                    continue;
                }
                let d = b.target(form, part, Ty::B16)?;
                let shift = Reg::R32(b.constant32(Value::Bits(16 * index as u64))?);
                b.lane(
                    Lane::to(d),
                    |[bits, shift, ..], _| (bits >> shift & 0xffff, false),
                    &[a, shift],
                );
            }
        }
        _ => return Err(form.unsupported()),
    }
    Ok(())
}
