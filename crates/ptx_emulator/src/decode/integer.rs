//! Integer arithmetic.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::integer_lanes::{
    absolute, add_sat, difference, high_signed32, low24, mad_high, mad_high_sat, mad_low_lane,
    mul_high, mul24, negate, quotient, remainder, sub_sat, sum, sum_of_difference,
};
use super::lane::{Lane, for_integer, integer_ty};
use super::op::{CARRY, IntOp, LaneFn, Op, Pred, Reg, Row, TRUE};
use super::program::Value;
use crate::error::ParseError;

/// `add`, `sub`, `mul`, `mad`, `div`, … of integers.
pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let carry_out = form.take("cc");
    let saturate = form.take("sat");
    let part = form.take_one_of(&["lo", "hi", "wide"]);
    let ty = form.ty()?;
    if matches!(
        (form.base, part),
        ("dp4a", None) | ("dp2a", Some("lo" | "hi"))
    ) {
        return dot_product(b, form, ty, part);
    }
    if !integer_ty(ty) {
        return Err(form.unsupported());
    }
    if carry_out || matches!(form.base, "addc" | "subc" | "madc") {
        return if saturate || ty.size() == 2 {
            Err(form.unsupported())
        } else {
            with_carry(b, form, ty, part, carry_out)
        };
    }
    if saturate {
        return saturating(b, form, ty, part);
    }
    match (form.base, part) {
        ("add", None) => simple(b, &form, IntOp::Add, ty),
        ("sub", None) => simple(b, &form, IntOp::Sub, ty),
        ("mul", Some("lo")) => simple(b, &form, IntOp::Mul, ty),
        ("min", None) => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MinSigned
            } else {
                IntOp::MinUnsigned
            },
            ty,
        ),
        ("max", None) => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MaxSigned
            } else {
                IntOp::MaxUnsigned
            },
            ty,
        ),
        ("mul", Some("hi")) if ty.size() > 2 => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MulHiSigned
            } else {
                IntOp::MulHiUnsigned
            },
            ty,
        ),
        ("mul" | "mad", Some("wide")) => wide(b, &form, ty),
        ("mad", Some("lo")) if ty.size() > 2 => mad_low(b, &form, ty),
        ("mul", Some("hi")) => lanes(b, &form, ty, 2, for_integer!(ty, mul_high)),
        ("mad", Some("lo")) => lanes(b, &form, ty, 3, for_integer!(ty, mad_low_lane)),
        ("mad", Some("hi")) => lanes(b, &form, ty, 3, for_integer!(ty, mad_high)),
        ("mul24", Some("lo")) if ty.size() == 4 => lanes(b, &form, ty, 2, mul24(ty, false)),
        ("mul24", Some("hi")) if ty.size() == 4 => lanes(b, &form, ty, 2, mul24(ty, true)),
        ("mad24", Some("lo")) if ty.size() == 4 => lanes(b, &form, ty, 3, mul24(ty, false)),
        ("mad24", Some("hi")) if ty.size() == 4 => lanes(b, &form, ty, 3, mul24(ty, true)),
        ("sad", None) => lanes(b, &form, ty, 3, for_integer!(ty, sum_of_difference)),
        ("abs", None) if ty.is_signed() => lanes(b, &form, ty, 1, for_integer!(ty, absolute)),
        ("neg", None) if ty.is_signed() => lanes(b, &form, ty, 1, for_integer!(ty, negate)),
        ("div", None) => divide(b, &form, ty, for_integer!(ty, quotient)),
        ("rem", None) => divide(b, &form, ty, for_integer!(ty, remainder)),
        _ => Err(form.unsupported()),
    }
}

/// Decodes an operation of two sources into `Int32` or `Int64`, which compute all lanes at once.
/// 16-bit values go through [`short`].
pub(super) fn simple<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    op: IntOp,
    ty: Ty,
) -> Result<(), ParseError> {
    let [d, left, right] = form.finish()?;
    match ty.size() {
        4 => {
            let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
            let d = b.target32(form, d)?;
            b.emit(Op::Int32 {
                op,
                d,
                a: left,
                b: right,
            });
        }
        8 => {
            let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
            let d = b.target64(form, d)?;
            b.emit(Op::Int64 {
                op,
                d,
                a: left,
                b: right,
            });
        }
        _ => {
            let (left, right) = (b.r16(form, left)?, b.r16(form, right)?);
            let Reg::R16(d) = b.target(form, d, ty)? else {
                return Err(form.unsupported());
            };
            let (left, right) = match op {
                IntOp::MinSigned | IntOp::MaxSigned => {
                    (sign_extended(b, left)?, sign_extended(b, right)?)
                }
                _ => (left, right),
            };
            short(b, op, d, left, right)?;
        }
    }
    Ok(())
}

/// Computes a 16-bit operation in 32 bits and keeps the low 16. Rows hold 16-bit values
/// zero-extended, so callers sign-extend the sources whose sign matters.
pub(super) fn short(
    b: &mut Builder<'_, '_>,
    op: IntOp,
    d: Row,
    left: Row,
    right: Row,
) -> Result<(), ParseError> {
    let mask = b.constant32(Value::Bits(0xffff))?;
    let t = b.temp32()?;
    b.emit(Op::Int32 {
        op,
        d: t,
        a: left,
        b: right,
    });
    b.emit(Op::Int32 {
        op: IntOp::And,
        d,
        a: t,
        b: mask,
    });
    Ok(())
}

/// A temporary row with 16-bit values sign-extended to 32 bits.
pub(super) fn sign_extended(b: &mut Builder<'_, '_>, row: Row) -> Result<Row, ParseError> {
    let sixteen = b.constant32(Value::Bits(16))?;
    let t = b.temp32()?;
    b.emit(Op::Int32 {
        op: IntOp::Shl,
        d: t,
        a: row,
        b: sixteen,
    });
    b.emit(Op::Int32 {
        op: IntOp::ShrSigned,
        d: t,
        a: t,
        b: sixteen,
    });
    Ok(t)
}

fn wide<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>, ty: Ty) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let (d, left, right, addend) = match (form.base, form.operands) {
        ("mul", [d, left, right]) => (d, left, right, None),
        ("mad", [d, left, right, addend]) => (d, left, right, Some(addend)),
        ("mul", _) => return Err(form.wrong("takes 3 operands")),
        _ => return Err(form.wrong("takes 4 operands")),
    };
    match ty.size() {
        4 => {
            let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
            let addend = addend.map(|addend| b.r64(form, addend)).transpose()?;
            let d = b.target64(form, d)?;
            let signed = ty.is_signed();
            b.emit(match addend {
                None => Op::MulWide {
                    signed,
                    d,
                    a: left,
                    b: right,
                },
                Some(c) => Op::MadWide {
                    signed,
                    d,
                    a: left,
                    b: right,
                    c,
                },
            });
        }
        2 => {
            let (mut left, mut right) = (b.r16(form, left)?, b.r16(form, right)?);
            if ty.is_signed() {
                (left, right) = (sign_extended(b, left)?, sign_extended(b, right)?);
            }
            let addend = addend.map(|addend| b.r32(form, addend)).transpose()?;
            let d = b.target32(form, d)?;
            b.emit(match addend {
                None => Op::Int32 {
                    op: IntOp::Mul,
                    d,
                    a: left,
                    b: right,
                },
                Some(c) => Op::Mad32 {
                    d,
                    a: left,
                    b: right,
                    c,
                },
            });
        }
        _ => return Err(form.unsupported()),
    }
    Ok(())
}

fn mad_low<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>, ty: Ty) -> Result<(), ParseError> {
    let [d, left, right, addend] = form.finish()?;
    if ty.size() == 4 {
        let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
        let addend = b.source32(form, addend, ty)?;
        let d = b.target32(form, d)?;
        b.emit(Op::Mad32 {
            d,
            a: left,
            b: right,
            c: addend,
        });
    } else {
        let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
        let addend = b.source64(form, addend, ty)?;
        let d = b.target64(form, d)?;
        b.emit(Op::Mad64 {
            d,
            a: left,
            b: right,
            c: addend,
        });
    }
    Ok(())
}

/// An operation whose operands all have the instruction's type.
pub(super) fn lanes<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    count: usize,
    eval: Option<LaneFn>,
) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let eval = eval.ok_or_else(|| form.unsupported())?;
    let [d, sources @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if sources.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let sources: Result<Vec<Reg>, _> = sources
        .iter()
        .map(|source| b.source(form, source, ty))
        .collect();
    let d = b.target(form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources?);
    Ok(())
}

fn divide<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    eval: Option<LaneFn>,
) -> Result<(), ParseError> {
    let [d, left, right] = form.finish()?;
    let sources = [b.source(form, left, ty)?, b.source(form, right, ty)?];
    let d = b.target(form, d, ty)?;
    let eval = eval.ok_or_else(|| form.unsupported())?;
    b.lane(
        Lane {
            divides: true,
            ..Lane::to(d)
        },
        eval,
        &sources,
    );
    Ok(())
}

fn saturating<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    ty: Ty,
    part: Option<&str>,
) -> Result<(), ParseError> {
    match (form.base, part, ty) {
        ("add", None, Ty::S32) => lanes(
            b,
            &form,
            ty,
            2,
            Some(|[a, b, ..], _| (add_sat(a, b), false)),
        ),
        ("sub", None, Ty::S32) => lanes(
            b,
            &form,
            ty,
            2,
            Some(|[a, b, ..], _| (sub_sat(a, b), false)),
        ),
        ("mad", Some("hi"), Ty::S32) => lanes(
            b,
            &form,
            ty,
            3,
            Some(|[a, b, c, _], _| (mad_high_sat(a, b, c), false)),
        ),
        ("mad24", Some("hi"), Ty::S32) => lanes(
            b,
            &form,
            ty,
            3,
            Some(|[a, b, c, _], _| {
                let high = (low24(a) * low24(b)) >> 16;
                (add_sat(high as u64, c), false)
            }),
        ),
        _ => Err(form.unsupported()),
    }
}

/// Extended-precision arithmetic through the carry flag.
fn with_carry<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    ty: Ty,
    part: Option<&str>,
    carry_out: bool,
) -> Result<(), ParseError> {
    let wide = ty.size() == 8;
    let (eval, count): (LaneFn, usize) = match (form.base, part, wide) {
        ("add" | "addc", None, false) => (|[a, b, ..], c| sum::<32>(a, b, c), 2),
        ("add" | "addc", None, true) => (|[a, b, ..], c| sum::<64>(a, b, c), 2),
        ("sub" | "subc", None, false) => (|[a, b, ..], c| difference::<32>(a, b, c), 2),
        ("sub" | "subc", None, true) => (|[a, b, ..], c| difference::<64>(a, b, c), 2),
        ("mad" | "madc", Some("lo"), false) => (
            |[a, b, c, _], carry| sum::<32>(a.wrapping_mul(b) as u32 as u64, c, carry),
            3,
        ),
        ("mad" | "madc", Some("lo"), true) => (
            |[a, b, c, _], carry| sum::<64>(a.wrapping_mul(b), c, carry),
            3,
        ),
        ("mad" | "madc", Some("hi"), _) => match ty {
            Ty::U32 => (|[a, b, c, _], carry| sum::<32>((a * b) >> 32, c, carry), 3),
            Ty::S32 => (
                |[a, b, c, _], carry| sum::<32>(high_signed32(a, b), c, carry),
                3,
            ),
            Ty::U64 => (
                |[a, b, c, _], carry| {
                    sum::<64>(((u128::from(a) * u128::from(b)) >> 64) as u64, c, carry)
                },
                3,
            ),
            _ => (
                |[a, b, c, _], carry| {
                    sum::<64>(
                        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
                        c,
                        carry,
                    )
                },
                3,
            ),
        },
        _ => return Err(form.unsupported()),
    };
    form.no_more_modifiers()?;
    let [d, sources @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if sources.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let sources: Result<Vec<Reg>, _> = sources
        .iter()
        .map(|source| b.source(&form, source, ty))
        .collect();
    let d = b.target(&form, d, ty)?;
    let carry_in = form.base.ends_with('c');
    let flag_in = if carry_in {
        Pred::new(CARRY, false)
    } else {
        TRUE.not()
    };
    let flag_out = carry_out.then_some(CARRY);
    b.lane(
        Lane {
            flag_in,
            flag_out,
            ..Lane::to(d)
        },
        eval,
        &sources?,
    );
    Ok(())
}

/// `dp4a`: multiplies the bytes of two operands pairwise, and adds the products to a third.
/// `dp2a`: multiplies the first operand's two halves by the second's low or high two bytes instead.
fn dot_product<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    left: Ty,
    part: Option<&str>,
) -> Result<(), ParseError> {
    /// Part `index` of a word in parts of `bits` bits, sign- or zero-extended.
    fn element(word: u64, bits: u32, index: u32, signed: bool) -> i32 {
        let cut = (word as u32) << (32 - bits - bits * index);
        if signed {
            (cut as i32) >> (32 - bits)
        } else {
            (cut >> (32 - bits)) as i32
        }
    }
    /// `how` is a constant from the decoder: bits 0 and 1 say whether `a` and `b` are signed, the
    /// rest is the index of `b`'s first byte.
    fn dot<const PARTS: u32>([a, b, c, how]: [u64; 4], _: bool) -> (u64, bool) {
        let (left, right, first) = (how & 1 == 1, how & 2 == 2, (how >> 2) as u32);
        let products = (0..PARTS).map(|index| {
            let product = i64::from(element(a, 32 / PARTS, index, left))
                * i64::from(element(b, 8, first + index, right));
            product as i32
        });
        let sum = products.fold(c as i32, i32::wrapping_add);
        (u64::from(sum as u32), false)
    }
    let right = form.ty()?;
    if left.size() != 4 || right.size() != 4 || !right.is_integer() {
        return Err(form.unsupported());
    }
    let [d, x, y, z] = form.finish()?;
    let how = u64::from(left.is_signed())
        | u64::from(right.is_signed()) << 1
        | if part == Some("hi") { 2 << 2 } else { 0 };
    let mut sources = Vec::new();
    for operand in [x, y, z] {
        sources.push(b.source(&form, operand, Ty::B32)?);
    }
    sources.push(Reg::R32(b.constant32(Value::Bits(how))?));
    let d = b.target(&form, d, Ty::B32)?;
    let eval = if part.is_some() { dot::<2> } else { dot::<4> };
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}
